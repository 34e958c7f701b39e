//! Random sequences of writing calls, including failing ones. The finished file has exactly the accepted
//! objects, and a second reader accepts it. `ZT_SEQUENCES` sets the number of sequences, `ZT_SEED` the first
//! seed.

mod calls;
use crate::common;
mod foreign;
mod model;
mod session;
mod sources;

use session::{Pool, Session};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect(name))
}

#[test]
fn accepted_objects_are_in_a_valid_file() {
    let (first, count) = (number("ZT_SEED", 1), number("ZT_SEQUENCES", 1500));
    let sources = sources::all();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64).min(4);
    let counts: Vec<_> = std::thread::scope(|scope| {
        let sources = &sources;
        let run = move |thread: u64| {
            let folder = common::Folder::new();
            let mut pool = Pool::new(sources, &folder);
            (first..first + count).filter(|seed| seed % threads == thread).for_each(|seed| {
                Session::run(&mut pool, seed);
            });
            pool.counts
        };
        let started: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        started
            .into_iter()
            .map(|thread| thread.join().expect("a sequence failed; its seed is printed above"))
            .collect()
    });
    let mut total = session::Counts::default();
    counts.iter().for_each(|c| total.add(c));
    println!("{total:?}");
    if count >= 1000 {
        assert!(total.finished > count / 2 && total.aborted > 0 && total.appended > count / 10, "{total:?}");
        assert!(
            total.copied > count / 2
                && total.recoded > count / 10
                && total.refused > count
                && total.edited > count / 20,
            "{total:?}"
        );
        assert!(
            total.strict > count / 4
                && total.damaged > count / 100
                && total.streamed > count / 4
                && total.written > count,
            "{total:?}"
        );
    }
}
