"""The page of `zt report` in a headless Chromium:
    test.py ZT OUTDIR [MODEL...]
For models of all-MiniLM-L6-v2 and Gemma 3 it makes the pictures OUTDIR/report.png and report-gguf.png, which
are in docs/. Ends with: report: N passed, M failed."""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import traceback

from chromium import Browser

HOSTILE = ["</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "a\u202eb\u0000c\\d",
           "'\"&<!--<script>", "", "__proto__", "constructor", "layers.0.toString"]
COUNT = 100_000


def write(path, tensors):
    """A safetensors file: name, dtype, shape and bytes of each tensor."""
    header, at = {}, 0
    for name, dtype, shape, data in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, _, data in tensors:
            file.write(data)


def floats(*numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


class Tests:
    def __init__(self, zt, folder, models):
        self.zt, self.folder, self.models = zt, folder, models
        self.browser = Browser(shutil.which("chromium") or shutil.which("google-chrome"))

    def at(self, name):
        return os.path.join(self.folder, name)

    def open(self, name, *arguments, **how):
        page = self.at(name)
        subprocess.run([self.zt, "report", *arguments, "-o", page, "--force"], check=True, stdout=subprocess.DEVNULL)
        self.browser.open(page, **how)
        assert self.browser.requests() == [], self.browser.requests()
        assert self.browser.complaints() == [], self.browser.complaints()

    def shown(self, column=1):
        """The texts of the visible rows in a column."""
        return self.browser.run(f"[...document.querySelectorAll('#table .row')].map(row => row.children[{column - 1}].textContent)")

    def press(self, find):
        """Clicks on the element that an expression returns."""
        self.browser.run(f"({find}).scrollIntoView({{block: 'center'}})")
        x, y = self.browser.run(f"(() => {{ const at = ({find}).getBoundingClientRect(); return [at.x + Math.min(20, at.width / 2), at.y + Math.min(8, at.height / 2)]; }})()")
        self.browser.click(x, y)

    def search(self, text):
        self.browser.run("by('search').focus(); by('search').select()")
        self.browser.call("Input.insertText", text=text)

    def many(self):
        path = self.at("many.safetensors")
        if not os.path.exists(path):
            random.seed(1)
            names = HOSTILE + [f"model.layers.{i // 1000}.experts.{i % 1000 // 4}.{['gate', 'up', 'down', 'norm'][i % 4]}" for i in range(COUNT - len(HOSTILE))]
            kinds = [("F32", 4), ("BF16", 2), ("BF16", 2), ("I8", 1)]
            tensors = []
            for name in names:
                dtype, width = random.choice(kinds)
                count = random.choice([1, 2, 4, 16])
                tensors.append((name, dtype, [count], bytes(count * width)))
            write(path, tensors)
        return path

    def tree(self):
        path = self.at("tree.safetensors")
        write(path, [(f"block.{i}.{part}.weight", "F32", [n], bytes(4 * n)) for i in range(3) for part, n in [("a", 4000), ("b", 3000 + i)]]
              + [("head", "I8", [9000], bytes(9000)), ("none", "F32", [0], b"")])
        return path

    def test_a_hundred_thousand_rows_are_sorted_filtered_and_scrolled(self):
        browser = self.browser
        self.open("many.html", self.many())
        assert browser.run("by('count').textContent").startswith("100,000 of 100,000 tensors")
        assert 10 < len(self.shown()) < 40, "only visible rows are in the document"
        self.press("document.querySelectorAll('#table .head button')[3]")
        sizes = self.shown(4)
        assert sizes[0] == "64 B" and browser.run("document.querySelectorAll('#table .head > div')[3].ariaSort") == "descending"
        self.press("document.querySelectorAll('#table .head button')[3]")
        assert self.shown(4)[0] == "1 B"
        self.search("layers.7.*gate")
        assert browser.run("by('count').textContent").startswith("250 of 100,000"), browser.run("by('count').textContent")
        assert all(".7.experts." in name and name.endswith("gate") for name in self.shown())
        self.press("document.querySelectorAll('#table .head button')[0]")
        assert self.shown()[:3] == [f"model.layers.7.experts.{n}.gate" for n in range(3)], "numbers are sorted by value"
        self.search(" ")
        browser.run("table.body.focus()")
        browser.key("End")
        last = browser.run("[...document.querySelectorAll('#table .row')].pop().getAttribute('aria-rowindex')")
        assert last == str(COUNT + 1), last
        tops = browser.run("""(() => { const seen = []; for (const part of [0, 0.25, 0.5, 1]) {
            table.body.scrollTop = part * table.space.offsetHeight; table.draw();
            const row = document.querySelector('#table .row').getBoundingClientRect(), body = table.body.getBoundingClientRect();
            seen.push(row.top - body.top <= 1 && row.top - body.top > -30); } return seen; })()""")
        assert tops == [True] * 4, "rows are drawn at the scroll position"

    def test_names_are_text_and_nothing_but_text(self):
        browser = self.browser
        self.open("hostile.html", self.many())
        assert browser.run("window.hacked") is None
        for name in ["</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>"]:
            self.search(name)
            assert name in self.shown(), self.shown()
        self.search("a\\u{202e}b\\u{0}c\\\\d")
        assert self.shown() == ["a\\u{202e}b\\u{0}c\\\\d"], self.shown()
        self.search("<img")
        self.press("document.querySelector('#table .row')")
        assert browser.run("by('detail').querySelector('h3').textContent") == HOSTILE[1]
        assert browser.run("document.images.length + document.scripts.length") == 2, "the data and the script"
        # The policy blocks scripts and requests even if markup came through.
        browser.run("document.body.insertAdjacentHTML('beforeend', '<img src=http://127.0.0.1:9/ onerror=\"window.hacked=2\"><b onclick=\"window.hacked=3\" id=b>b</b>')")
        browser.run("(() => { const s = document.createElement('script'); s.textContent = 'window.hacked=4'; document.body.append(s); b.click(); })()")
        browser.run("new Promise(done => setTimeout(done, 100))")
        assert browser.run("window.hacked") is None
        assert browser.run("fetch('http://127.0.0.1:9/').then(() => 'sent', why => String(why))") == "TypeError: Failed to fetch"
        refused = [event for event in browser.complaints() if "Content Security Policy" in event]
        assert len(refused) >= 3, browser.complaints()

    def test_the_map_goes_in_and_out(self):
        browser = self.browser
        self.open("tree.html", self.tree())
        tile = "[...document.querySelectorAll('.tile')].find(tile => tile.node.prefix === {!r})"
        areas = browser.run("Object.fromEntries([...document.querySelectorAll('.tile')].filter(t => t.path.length === 2).map(t => [t.node.prefix, t.offsetWidth * t.offsetHeight]))")
        assert set(areas) == {"block.", "head"} and 8.5 < areas["block."] / areas["head"] < 10.5, areas
        assert browser.run(tile.format("head") + ".style.background") != browser.run(tile.format("block.0.a.weight") + ".style.background"), "types have colours"
        self.press(tile.format("block."))
        assert len(self.shown()) == 6 and browser.run("by('trail').textContent").startswith("all\u203ablock."), browser.run("by('trail').textContent")
        self.press(tile.format("block.1."))
        assert self.shown() == ["block.1.a.weight", "block.1.b.weight"]
        self.press("by('trail').querySelector('button')")
        assert len(self.shown()) == 8
        browser.run("document.querySelector('.tile').focus()")
        browser.key("ArrowRight")
        browser.key("Enter")
        assert browser.run("by('detail').querySelector('h3').textContent") == "head"
        browser.key("Escape")
        assert browser.run("by('detail').hidden")
        browser.run("document.querySelector('.tile').focus()")
        browser.key("Enter")
        assert len(self.shown()) == 6
        browser.key("Backspace")
        assert len(self.shown()) == 8

    def test_the_shares_choose(self):
        self.open("groups.html", self.tree())
        self.press("[...document.querySelectorAll('.legend button')].find(b => b.textContent.startsWith('i8'))")
        assert self.shown() == ["head"] and self.browser.run("by('chips').textContent") == "Type: i8 \u00d7"
        self.press("by('chips').querySelector('button')")
        assert len(self.shown()) == 8

    def test_values_and_differences_are_those_of_the_files(self):
        browser = self.browser
        one, other = self.at("one.safetensors"), self.at("other.safetensors")
        write(one, [("x", "F32", [4], floats(-1, 0, 0, 1)), ("gone", "F32", [1], floats(1)), ("same", "F32", [1], floats(2))])
        write(other, [("x", "F32", [4], floats(-1, 0, 0.5, 1)), ("new", "F32", [1], floats(1)), ("same", "F32", [1], floats(2))])
        self.open("two.html", one, other, "--stats", "--diff", dark=True)
        rows = browser.run("[...document.querySelectorAll('#difference-table .row')].map(row => [...row.children].map(cell => cell.textContent))")
        assert rows == [["only in the first", "gone", "", ""], ["only in the second", "new", "", ""],
                        ["differs", "x", "0.5", "1 of 4 numbers, at most by 0.5, the first at [2]: 0 and 0.5"]], rows
        assert browser.run("by('difference-summary').textContent") == "1 tensor the same, 1 differ, 1 only in the first, 1 only in the second"
        self.press("[...document.querySelectorAll('#difference-table .row')].pop()")
        facts = browser.run("[...document.querySelectorAll('#detail dl:last-of-type dd')].map(dd => dd.textContent)")
        assert facts == ["4", "-1", "1", "0", "0.707107", "2", "0", "0"], facts
        assert browser.run("document.querySelectorAll('#detail svg path')[0].getAttribute('d').split('M').length") == 4, "three bars"
        self.press("[...document.querySelectorAll('#tabs button')][1]")
        assert self.shown() == ["x", "new", "same"]

    def test_light_and_dark_are_as_the_system_has_them_or_as_chosen(self):
        browser = self.browser
        path = self.tree()
        back = "getComputedStyle(document.body).backgroundColor"
        self.open("light.html", path)
        light = browser.run(back)
        self.open("dark.html", path, dark=True)
        dark = browser.run(back)
        assert light != dark
        self.press("by('theme')")
        assert browser.run(back) == light

    def test_pictures_of_models(self):
        for model in self.models:
            name, prefix, height = ("report-gguf", "blk.", 1090) if model.endswith(".gguf") else ("report", "encoder.layer.", 1300)
            self.open(name + ".html", model, "--stats", width=1180, height=height)
            self.browser.run("by('path').textContent = by('path').textContent.split('/').pop()")
            self.press(f"[...document.querySelectorAll('.tile.group')].find(tile => tile.node.prefix === '{prefix}')")
            self.browser.run("scrollTo(0, 0)")
            self.browser.picture(self.at(name + ".png"), {"x": 0, "y": 0, "width": 1180, "height": height, "scale": 0.7})
            self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
            self.browser.picture(self.at(name + "-dark.png"))


def main():
    zt, folder = sys.argv[1], sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    tests = Tests(zt, folder, sys.argv[3:])
    passed = failed = 0
    try:
        for name in [name for name in dir(tests) if name.startswith("test_")]:
            try:
                getattr(tests, name)()
                passed += 1
            except Exception:
                failed += 1
                print(f"{name}:\n{traceback.format_exc()}", file=sys.stderr)
    finally:
        tests.browser.close()
    print(f"report: {passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
