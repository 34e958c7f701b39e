#!/bin/sh
# Sums up the last lines of test runs in log files: those of cargo test, ctest and our scripts (NAME: N
# passed, M failed).
#     sh tools/count_tests.sh LOG...
# Prints "N passed, M failed, K skipped". Exit status 1 if a test failed, or if a last line is missing.
[ $# -ge 1 ] || { echo "usage: count_tests.sh LOG..." >&2; exit 2; }
awk '
    /^test result: / { # test result: ok. 12 passed; 0 failed; 1 ignored; ...
        for (i = 2; i <= NF; i++) {
            if ($i == "passed;") passed += $(i - 1)
            if ($i == "failed;") failed += $(i - 1)
            if ($i == "ignored;") skipped += $(i - 1)
        }
    }
    /% tests passed, [0-9]+ tests? failed out of [0-9]+/ { # 100% tests passed, 0 tests failed out of 12
        failed += $4
        passed += $NF - $4
    }
    /^[a-zA-Z+_ ()-]+: [0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ {
        name = line = $0
        sub(/: .*/, "", name)
        sub(/^.*: /, "", line)
        split(line, word, " ")
        passed += word[1]
        failed += word[3]
        if (5 in word) {
            skipped += word[5]
            delete said[name] # already counted
        }
    }
    /^[a-z_]+: skipped: / {
        name = $0
        sub(/: .*/, "", name)
        said[name]++
    }
    END {
        for (name in said) skipped += said[name]
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed > 0 || passed + skipped == 0
    }
' "$@"
