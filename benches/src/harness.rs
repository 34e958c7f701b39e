//! Interleaved sampling, medians, paired ratios, a printed table and JSON.

use crate::outcome::attempt;
use serde_json::{json, Value};

#[derive(Clone, Copy, PartialEq)]
pub enum Role {
    /// Limits of the hardware and kernel; ratios are computed against them.
    Limit,
    /// libztensor, through its C interface.
    Libztensor,
    /// A published library, used through its public API.
    Peer,
    /// A prototype in this crate: shows what a new library could reach.
    Idea,
}

impl Role {
    fn tag(self) -> &'static str {
        match self {
            Role::Limit => "limit",
            Role::Libztensor => "ours",
            Role::Peer => "peer",
            Role::Idea => "idea",
        }
    }
}

/// How a time in seconds is also printed as a rate.
#[derive(Clone, Copy)]
pub enum Unit {
    /// Bytes moved: printed in GB/s (10^9).
    Bytes(f64),
    /// Items processed: printed in ns per item.
    Items(f64),
}

pub struct Metric {
    pub name: &'static str,
    pub unit: Unit,
    /// The case whose time in the same round is the denominator of ratios.
    pub limit: &'static str,
}

pub type Sample = Vec<Option<f64>>;

pub struct Case<'a> {
    pub name: String,
    pub role: Role,
    /// One time in seconds for each metric of the group; None if the case does not have the metric. A case
    /// that cannot be measured calls `outcome::not_measured`. A wrong result panics.
    pub run: Box<dyn FnMut() -> Sample + 'a>,
}

pub fn case<'a>(role: Role, name: impl Into<String>, run: impl FnMut() -> Sample + 'a) -> Case<'a> {
    Case { name: name.into(), role, run: Box::new(run) }
}

/// A case with one metric: the closure returns the time in seconds.
pub fn timed<'a>(role: Role, name: impl Into<String>, mut run: impl FnMut() -> f64 + 'a) -> Case<'a> {
    case(role, name, move || vec![Some(run())])
}

pub struct Group<'a> {
    pub id: String,
    pub title: String,
    pub metrics: Vec<Metric>,
    pub cases: Vec<Case<'a>>,
    /// Facts beside the table (sizes, ratios, checks).
    pub notes: Vec<String>,
}

pub fn secs<T>(f: impl FnOnce() -> T) -> (f64, T) {
    let t = crate::clock::Moment::now();
    let r = f();
    (t.elapsed(), r)
}

pub fn median(v: &[f64]) -> f64 {
    let mut v = v.to_vec();
    v.sort_by(f64::total_cmp);
    match v.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => v[n / 2],
        n => (v[n / 2 - 1] + v[n / 2]) / 2.0,
    }
}

fn span(v: &[f64]) -> (f64, f64) {
    v.iter().fold((f64::MAX, 0.0), |(lo, hi), &x| (lo.min(x), f64::max(hi, x)))
}

/// Compares the rows of this group with their targets.
fn verdicts(g: &Group<'_>, samples: &[Vec<Sample>], missing: &[Option<String>]) {
    for t in crate::targets::TARGETS.iter().filter(|t| t.group == g.id) {
        let at = |name: &str| g.cases.iter().position(|c| c.name.starts_with(name));
        let m = g.metrics.iter().position(|m| m.name == t.metric);
        let Some(m) = m else { continue }; // of another group with this name
        let (Some(a), Some(b)) = (at(t.case), at(t.against)) else {
            if ONLY.get().is_none() {
                crate::outcome::count_failure();
                crate::targets::judge_ratio(t, Err("failed: the group does not have these rows"));
            }
            continue;
        };
        if let Some(why) = missing[a].as_ref().or(missing[b].as_ref()) {
            crate::targets::judge_ratio(t, Err(why));
            continue;
        }
        let ratio_to = |b: usize| {
            let pairs = samples[a].iter().zip(&samples[b]);
            let ratios: Vec<f64> =
                pairs.filter_map(|(x, y)| Some(x.get(m).copied()?? / y.get(m).copied()??)).collect();
            if ratios.is_empty() {
                Err("no round has both times")
            } else {
                Ok(median(&ratios))
            }
        };
        let ratio = ratio_to(b);
        let other = t.or.and_then(|(other, reach)| Some((other, reach, ratio_to(at(other)?).ok()?)));
        match other {
            Some((other, reach, value)) if ratio.is_ok_and(|ratio| value / reach < ratio / t.reach) => {
                crate::targets::judge_ratio_to(t, other, Ok(value), reach);
            }
            _ => crate::targets::judge_ratio(t, ratio),
        }
    }
}

/// If set, runs only the cases with this in their names (and the denominators).
pub static ONLY: std::sync::OnceLock<String> = std::sync::OnceLock::new();

/// Runs every case once in each round, in a different order each time. So drift of the machine and effects of
/// the previous case are spread over all cases.
pub fn run_group(mut g: Group<'_>, reps: usize, warmup: usize) -> Value {
    let only = ONLY.get().map_or("", |s| s);
    g.cases.retain(|c| c.name.contains(only) || c.role == Role::Limit);
    let n = g.cases.len();
    let progress = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); n];
    let mut missing: Vec<Option<String>> = vec![None; n];
    for round in 0..warmup + reps {
        for i in crate::data::shuffled(n, round as u64 + 1) {
            if missing[i].is_some() {
                continue;
            }
            if progress {
                eprint!("\r\x1b[K{} round {}/{} {}", g.id, round + 1, warmup + reps, g.cases[i].name);
            }
            let s = attempt(|| (g.cases[i].run)());
            crate::sys::tidy_heap();
            match s {
                Ok(s) if round >= warmup => samples[i].push(s),
                Ok(_) => {}
                // A case with fewer rounds than the others would not be comparable.
                Err(why) => {
                    samples[i].clear();
                    missing[i] = Some(why);
                }
            }
        }
    }
    if progress {
        eprint!("\r\x1b[K");
    }

    println!("\n## {}: {} ({} rounds)", g.id, g.title, reps);
    for note in &g.notes {
        println!("   {note}");
    }
    let mut out = Vec::new();
    for (m, metric) in g.metrics.iter().enumerate() {
        let unit = match metric.unit {
            Unit::Bytes(_) => "GB/s",
            Unit::Items(_) => "ns/item",
        };
        println!(
            "\n{:<58} {:>6} {:>10} {:>22} {:>9} {:>8}",
            format!("[{}]", metric.name),
            "role",
            "median ms",
            "min..max ms",
            unit,
            "x limit"
        );
        let limit = g.cases.iter().position(|c| c.name == metric.limit);
        for (i, c) in g.cases.iter().enumerate() {
            if let Some(why) = &missing[i] {
                println!("{:<58} {:>6} not measured: {why}", c.name, c.role.tag());
                out.push(json!({
                    "metric": metric.name, "case": c.name, "role": c.role.tag(), "not_measured": why,
                }));
                continue;
            }
            let t: Vec<f64> = samples[i].iter().filter_map(|s| s.get(m).copied().flatten()).collect();
            if t.is_empty() {
                continue;
            }
            let ratios: Vec<f64> = limit.map_or(Vec::new(), |l| {
                samples[i]
                    .iter()
                    .zip(&samples[l])
                    .filter_map(|(a, b)| Some(a.get(m).copied()?? / b.get(m).copied()??))
                    .collect()
            });
            let (med, (lo, hi)) = (median(&t), span(&t));
            let rate = match metric.unit {
                Unit::Bytes(b) => b / med / 1e9,
                Unit::Items(n) => med / n * 1e9,
            };
            println!(
                "{:<58} {:>6} {:>10.2} {:>22} {:>9.3} {:>8}",
                c.name,
                c.role.tag(),
                med * 1e3,
                format!("{:.2}..{:.2}", lo * 1e3, hi * 1e3),
                rate,
                if ratios.is_empty() { "-".into() } else { format!("{:.2}", median(&ratios)) }
            );
            out.push(json!({
                "metric": metric.name, "case": c.name, "role": c.role.tag(),
                "median_s": med, "min_s": lo, "max_s": hi, "rate": rate, "rate_unit": unit,
                "limit": metric.limit, "times_limit": (!ratios.is_empty()).then(|| median(&ratios)),
                "samples_s": t,
            }));
        }
    }
    verdicts(&g, &samples, &missing);
    json!({"id": g.id, "title": g.title, "rounds": reps, "notes": g.notes, "results": out})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case that refuses in its second round, a limit, and a normal case.
    #[test]
    fn a_case_that_cannot_be_measured_prints_the_reason() {
        let _one = crate::outcome::ONE_AT_A_TIME.lock();
        crate::outcome::keep_reasons();
        let (mut first, mut second) = (0, 0);
        let g = Group {
            id: "W0".into(),
            title: "nothing".into(),
            metrics: vec![Metric { name: "load", unit: Unit::Items(1.0), limit: "limit" }],
            cases: vec![
                timed(Role::Limit, "limit", || 1.0),
                timed(Role::Libztensor, "refuses", || {
                    first += 1;
                    if first == 2 {
                        crate::outcome::not_measured("pages do not stay in memory");
                    }
                    1.0
                }),
                timed(Role::Peer, "goes on", || {
                    second += 1;
                    3.0
                }),
            ],
            notes: vec![],
        };
        let v = run_group(g, 4, 0);
        assert_eq!((first, second), (2, 4));
        let row =
            |name: &str| v["results"].as_array().unwrap().iter().find(|r| r["case"] == name).unwrap().clone();
        assert_eq!(row("refuses")["not_measured"], "pages do not stay in memory");
        assert!(row("refuses").get("median_s").is_none());
        assert_eq!(row("goes on")["times_limit"], 3.0);
        assert_eq!(v["results"].as_array().unwrap().len(), 3);
    }
}
