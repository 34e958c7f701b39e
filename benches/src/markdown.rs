//! Writes results.md from the output of a run with `--json`: rows with targets, and rows of groups
//! without targets.

use serde_json::Value;
use std::path::Path;

pub fn print(file: &Path) -> Result<(), String> {
    let at = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
    let text = std::fs::read_to_string(file).map_err(|e| at(&e))?;
    let run: Value = serde_json::from_str(&text).map_err(|e| at(&e))?;
    print!("{}", page(&run));
    Ok(())
}

fn text<'v>(v: &'v Value, key: &str) -> &'v str {
    v[key].as_str().unwrap_or("")
}

fn list<'v>(v: &'v Value, key: &str) -> &'v [Value] {
    v[key].as_array().map_or(&[], |list| list)
}

fn page(run: &Value) -> String {
    let machine = &run["machine"];
    let how = if run["by_processors"] == true { "; times of the processors, not the clock's" } else { "" };
    let size = if run["quick"] == true { "; a quick run, not to be quoted" } else { "" };
    let mut out = format!(
        "# Results of the benchmark\n\nOne run of `make bench`, which writes this page; [benchmarks.md](benchmarks.md) \
         says what the rows are.\nMedians, with minimum and maximum; the third column has the median of the ratios, \
         round by round, and what they have to reach.\nThe fourth has those of others over the denominator of the row's \
         group.\n\nlibztensor {}, {}, {} cores, {:.0} minutes{how}{size}.\n\n",
        text(run, "version"),
        text(machine, "cpu"),
        machine["cores"],
        run["wall_s"].as_f64().unwrap_or(0.0) / 60.0
    );
    let targets = list(run, "targets");
    out += "| row | libztensor | times the denominator (reach) | others |\n|---|---|---|---|\n";
    for group in list(run, "workloads") {
        if let Some(why) = group["not_measured"].as_str() {
            out += &format!("| {} | not measured: {why} | | |\n", text(group, "id"));
        }
        let results = list(group, "results");
        let mut last = "";
        let own = || results.iter().filter(|row| row["role"] == "ours");
        let has_target = |row: &&Value| targets.iter().any(|t| is_about(t, group, row));
        let none_has = !own().any(|row| has_target(&row));
        for row in own().filter(|row| none_has || has_target(row)) {
            // Other participants are beside the first row of a metric.
            let metric = text(row, "metric");
            let others = if metric == last { String::new() } else { others(results, metric) };
            last = metric;
            let name = format!("{} {metric}: {}", text(group, "id"), text(row, "case"));
            out += &format!("| {name} | {} | {} | {others} |\n", time(row), ratio(group, row, targets));
        }
    }
    for t in targets.iter().filter(|t| t["group"].is_null()) {
        let value = t["value"].as_f64().unwrap_or(f64::NAN);
        let (unit, reach) = (text(t, "unit"), t["reach"].as_f64().unwrap_or(f64::NAN));
        out += &format!(
            "| {} | {value:.2}{unit} | ({reach}{unit}) {} | |\n",
            text(t, "row"),
            text(t, "verdict")
        );
    }
    let count = |verdict: &str| targets.iter().filter(|t| t["verdict"] == verdict).count();
    out += &format!(
        "\n{} rows meet what they have to reach, {} miss, {} were not measured.\n",
        count("meets"),
        count("misses"),
        count("not measured")
    );
    out
}

fn seconds(s: f64) -> String {
    match s {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.3} ms", s * 1e3),
        s if s < 0.01 => format!("{:.2} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

fn time(row: &Value) -> String {
    if let Some(why) = row["not_measured"].as_str() {
        return format!("not measured: {why}");
    }
    let of = |key: &str| seconds(row[key].as_f64().unwrap_or(f64::NAN));
    let rate = match (text(row, "rate_unit"), row["rate"].as_f64()) {
        ("GB/s", Some(rate)) => format!(", {rate:.1} GB/s"),
        (_, Some(rate)) => format!(", {rate:.0} ns each"),
        _ => String::new(),
    };
    format!("{} ({} to {}){rate}", of("median_s"), of("min_s"), of("max_s"))
}

/// Ratios to the table's denominator, and to each target's.
fn ratio(group: &Value, row: &Value, targets: &[Value]) -> String {
    let judged: Vec<String> = targets
        .iter()
        .filter(|t| is_about(t, group, row))
        .map(|t| match t["value"].as_f64() {
            Some(value) => {
                format!("{value:.2} of {} ({}) {}", text(t, "against"), t["reach"], text(t, "verdict"))
            }
            None => "not measured".into(),
        })
        .collect();
    match (judged.is_empty(), row["times_limit"].as_f64()) {
        (false, _) => judged.join("; "),
        (true, Some(times)) => format!("{times:.2}"),
        (true, None) => String::new(),
    }
}

/// Whether a target is for that row of a group: the first row with the prefix.
fn is_about(target: &Value, group: &Value, row: &Value) -> bool {
    let begins = |r: &&Value| text(r, "case").starts_with(text(target, "case"));
    target["group"] == group["id"]
        && target["metric"] == row["metric"]
        && list(group, "results").iter().find(begins).is_some_and(|r| r["case"] == row["case"])
}

fn others(results: &[Value], metric: &str) -> String {
    let of_it = results.iter().filter(|r| r["metric"] == metric && r["role"] != "ours");
    let shown = of_it.filter_map(|r| {
        let times = r["times_limit"].as_f64()?;
        let is_denominator = r["case"] == r["limit"];
        (!is_denominator).then(|| format!("{} {times:.2}", text(r, "case").trim_start_matches("limit: ")))
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_has_its_time_its_target_and_the_other_participants() {
        let row = |case: &str, role: &str, s: f64| {
            json!({
                "metric": "open", "case": case, "role": role, "median_s": s, "min_s": s, "max_s": 2.0 * s,
                "rate": 7.0, "rate_unit": "ns/item", "limit": "limit: walk", "times_limit": s / 0.01,
            })
        };
        let run = json!({
            "version": "0.9.0", "machine": {"cpu": "a processor", "cores": 2}, "wall_s": 120.0,
            "workloads": [{"id": "W1", "results": [
                row("limit: walk", "limit", 0.01), row("libztensor zt_open", "ours", 0.02), row("other", "peer", 0.3),
            ]}, {"id": "W2", "not_measured": "no room", "results": []}],
            "targets": [
                {"row": "W1 open", "group": "W1", "metric": "open", "case": "libztensor", "against": "limit: walk",
                 "value": 2.0, "reach": 4.0, "unit": "x", "verdict": "meets"},
                {"row": "W1 memory", "group": null, "value": 14.0, "reach": 16.0, "unit": " MiB", "verdict": "meets"},
            ],
        });
        let page = page(&run);
        for line in [
            "libztensor 0.9.0, a processor, 2 cores, 2 minutes.",
            "| W1 open: libztensor zt_open | 20 ms (20 ms to 40 ms), 7 ns each | 2.00 of limit: walk (4.0) meets | other 30.00 |",
            "| W2 | not measured: no room | | |",
            "| W1 memory | 14.00 MiB | (16 MiB) meets | |",
            "2 rows meet what they have to reach, 0 miss, 0 were not measured.",
        ] {
            assert!(page.lines().any(|l| l == line), "{line}\n{page}");
        }
    }
}
