//! The timeline of a run, and a worker's position on it.

/// The moments that all workers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    pub begin_ns: u64,
    /// End of the warm-up, start of the window.
    pub open_ns: u64,
    pub close_ns: u64,
    /// 0: the whole window is one interval.
    pub interval_ns: u64,
}

impl Timeline {
    /// Nothing is due yet.
    pub fn ahead(interval_ns: u64) -> Self {
        Self {
            begin_ns: u64::MAX,
            open_ns: u64::MAX,
            close_ns: u64::MAX,
            interval_ns,
        }
    }

    /// Where the interval that begins at `start_ns` ends in the window: after the interval's
    /// length, or at a checkpoint, given as time since the start of the window.
    pub fn interval_end_ns(&self, start_ns: u64, checkpoints_ns: &[u64]) -> u64 {
        let since_ns = start_ns.saturating_sub(self.open_ns);
        let by_length = since_ns
            .checked_div(self.interval_ns)
            .and_then(|whole| self.interval_ns.checked_mul(whole + 1));
        let next = checkpoints_ns.iter().copied().filter(|at| *at > since_ns);
        let Some(end_ns) = next.chain(by_length).min() else {
            return self.close_ns;
        };
        let end_ns = end_ns.saturating_add(self.open_ns);
        // A last interval of next to no length would hold next to nothing.
        if end_ns.saturating_add(self.interval_ns / 100) >= self.close_ns {
            self.close_ns
        } else {
            end_ns
        }
    }

    /// Whether a span from `begun_ns` to `ended_ns` may have been under way at an edge of the
    /// window.
    #[inline]
    pub fn may_cut(&self, begun_ns: u64, ended_ns: u64) -> bool {
        begun_ns < self.open_ns || ended_ns >= self.close_ns
    }

    /// What a query adds to those that are counted as answered inside the window, so that it counts
    /// by the part of its time that lay inside.
    pub fn cut(&self, asked_ns: u64, answered_ns: u64) -> f64 {
        let is_inside = (self.open_ns..self.close_ns).contains(&answered_ns);
        self.part_inside(asked_ns, answered_ns) - f64::from(u8::from(is_inside))
    }

    /// The share of the time from `begun_ns` to `ended_ns` inside the window, 0 to 1.
    pub fn part_inside(&self, begun_ns: u64, ended_ns: u64) -> f64 {
        let inside_ns = ended_ns
            .min(self.close_ns)
            .saturating_sub(begun_ns.max(self.open_ns));
        inside_ns as f64 / ended_ns.saturating_sub(begun_ns).max(1) as f64
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkerPhase {
    /// Sessions connect and prepare.
    Setup,
    /// All are ready and wait for the common start.
    Armed,
    Warmup,
    Measure,
    /// The window is closed; answers that are due may come.
    Closed,
    /// Sessions end.
    Released,
    Over,
}

/// A worker's position on the timeline.
#[derive(Debug)]
pub struct Edges {
    pub phase: WorkerPhase,
    pub timeline: Timeline,
    /// When the next edge is due.
    pub next_ns: u64,
}

impl Edges {
    pub fn new() -> Self {
        Self {
            phase: WorkerPhase::Setup,
            timeline: Timeline::ahead(0),
            next_ns: u64::MAX,
        }
    }

    /// The load begins at the time in `timeline`.
    pub fn arm(&mut self, timeline: Timeline) {
        self.timeline = timeline;
        self.phase = WorkerPhase::Armed;
        self.next_ns = timeline.begin_ns;
    }

    /// The window closes at this time at the latest.
    pub fn close_by(&mut self, at_ns: u64) {
        self.timeline.open_ns = self.timeline.open_ns.min(at_ns);
        self.timeline.close_ns = self.timeline.close_ns.min(at_ns);
        if self.phase == WorkerPhase::Setup {
            self.phase = WorkerPhase::Warmup;
        }
        if self.phase <= WorkerPhase::Measure {
            self.next_ns = self.next_ns.min(at_ns);
        }
    }

    /// Sessions end, until this time at the latest.
    pub fn release(&mut self, limit_ns: u64) {
        self.phase = WorkerPhase::Released;
        self.next_ns = limit_ns;
    }

    /// Goes on to the next phase, or the next interval, if that is due. Returns the phase before.
    #[inline]
    pub fn cross(&mut self, now_ns: u64, checkpoints_ns: &[u64]) -> Option<WorkerPhase> {
        match now_ns < self.next_ns {
            true => None,
            false => self.go_on(checkpoints_ns),
        }
    }

    #[cold]
    fn go_on(&mut self, checkpoints_ns: &[u64]) -> Option<WorkerPhase> {
        let (timeline, before) = (self.timeline, self.phase);
        let end_ns = |start_ns| timeline.interval_end_ns(start_ns, checkpoints_ns);
        (self.phase, self.next_ns) = match before {
            WorkerPhase::Armed => (WorkerPhase::Warmup, timeline.open_ns),
            WorkerPhase::Warmup => (WorkerPhase::Measure, end_ns(timeline.open_ns)),
            WorkerPhase::Measure if self.next_ns >= timeline.close_ns => {
                (WorkerPhase::Closed, u64::MAX)
            }
            WorkerPhase::Measure => (WorkerPhase::Measure, end_ns(self.next_ns)),
            WorkerPhase::Released => (WorkerPhase::Over, u64::MAX),
            WorkerPhase::Setup | WorkerPhase::Closed | WorkerPhase::Over => return None,
        };
        Some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_end_at_the_window_and_the_last_is_not_a_sliver() {
        let timeline = Timeline {
            begin_ns: 0,
            open_ns: 1_000,
            close_ns: 3_505,
            interval_ns: 1_000,
        };
        assert_eq!(timeline.interval_end_ns(1_000, &[]), 2_000);
        assert_eq!(timeline.interval_end_ns(2_000, &[]), 3_000);
        assert_eq!(timeline.interval_end_ns(3_000, &[]), 3_505);
        // Checkpoints are counted from the start of the window, and end an interval too.
        assert_eq!(timeline.interval_end_ns(1_000, &[500, 1_500]), 1_500);
        assert_eq!(timeline.interval_end_ns(1_500, &[500, 1_500]), 2_000);
        assert_eq!(timeline.interval_end_ns(2_000, &[500, 1_500]), 2_500);
        assert_eq!(timeline.interval_end_ns(2_500, &[500, 1_500]), 3_000);
        let sliver = Timeline {
            close_ns: 3_005,
            ..timeline
        };
        assert_eq!(sliver.interval_end_ns(2_000, &[]), 3_005);
        let whole = Timeline {
            interval_ns: 0,
            ..timeline
        };
        assert_eq!(whole.interval_end_ns(1_000, &[]), 3_505);
        assert_eq!(whole.interval_end_ns(1_000, &[700]), 1_700);
        assert_eq!(timeline.interval_end_ns(u64::MAX - 1, &[]), 3_505);
    }

    const TIMELINE: Timeline = Timeline {
        begin_ns: 10,
        open_ns: 100,
        close_ns: 320,
        interval_ns: 100,
    };

    #[test]
    fn a_query_counts_by_the_part_of_its_time_inside() {
        let cuts = [
            ((50, 150), -0.5),
            ((150, 200), 0.0),
            ((100, 319), 0.0),
            ((300, 340), 0.5),
            ((0, 1_000), 0.22),
            ((10, 90), 0.0),
            ((330, 340), 0.0),
        ];
        for ((asked_ns, answered_ns), cut) in cuts {
            assert_eq!(TIMELINE.cut(asked_ns, answered_ns), cut);
            assert!(cut == 0.0 || TIMELINE.may_cut(asked_ns, answered_ns));
        }
    }

    /// The phases that end at these times, and intervals.
    fn crossed(edges: &mut Edges, times_ns: &[u64]) -> Vec<Vec<WorkerPhase>> {
        let at = |now_ns: &u64| std::iter::from_fn(|| edges.cross(*now_ns, &[150])).collect();
        times_ns.iter().map(at).collect()
    }

    #[test]
    fn edges_are_crossed_in_order_however_late_somebody_looks() {
        use WorkerPhase::{Armed, Closed, Measure, Over, Released, Warmup};
        let mut edges = Edges::new();
        assert_eq!(edges.cross(u64::MAX - 1, &[]), None);
        edges.arm(TIMELINE);
        assert_eq!(
            crossed(&mut edges, &[9, 10, 99, 100, 260, 319, 320, 1_000]),
            [
                vec![],
                vec![Armed],
                vec![],
                vec![Warmup],
                vec![Measure, Measure],
                vec![Measure],
                vec![Measure],
                vec![]
            ]
        );
        assert_eq!(edges.phase, Closed);
        edges.release(2_000);
        assert_eq!(
            crossed(&mut edges, &[1_999, 2_000]),
            [vec![], vec![Released]]
        );
        assert_eq!(edges.phase, Over);
        edges.arm(TIMELINE);
        edges.close_by(50);
        assert_eq!(crossed(&mut edges, &[50]), [[Armed, Warmup, Measure]]);
    }
}
