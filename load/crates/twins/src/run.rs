//! Sends a sample to all arms.

use super::ASK_OUTCOME_VERSION;
use super::arm::{ArmLink, AskAnswer, AskManner, AskedOnce};
use super::order::{balanced, shuffle};
use super::sample::{AskSample, SampledStatement};
use super::tally::{ArmTally, TemplateTally};
use contend_figures::Latency;
use contend_figures::outcome::{
    AskDone, AskEnded, AskHello, AskHelloArm, AskOutcome, AskProgress, AskedArm, Failure,
    MissingTable, TimestampRefused,
};
use contend_plan::{AskArm, AskPlan};
use contend_random::Stream;
use contend_reactor::clock::process_cpu_ns;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Statements sent before the first round: this part of the sample.
const WARM_PART: usize = 10;
/// With a time limit, a template gets at most this multiple of an equal part of it, so that slow
/// statements leave time for the others.
const PARTS_EACH: f64 = 2.0;
/// Each template gets at least this number of statements, if there is time.
const FEWEST: u64 = 3;
/// Statements that have all their rounds before further ones have any: a time limit then leaves
/// fewer statements, and not fewer rounds. Each round makes the shortest times more exact.
const LAP: usize = 64;
/// Interval between progress lines.
const PROGRESS: Duration = Duration::from_millis(500);
/// Missing tables that are named.
const MISSING_NAMED: usize = 10;

/// Takes the lines of a run.
pub type TakeOutcome<'a> = &'a mut dyn FnMut(AskOutcome);

/// Sends the sample to all arms, in random order. Raising `stop` ends it after the statement in
/// progress.
///
/// # Errors
/// A server cannot be reached, or is lost and does not come back.
pub fn run(
    plan: &AskPlan,
    sample: &AskSample,
    stop: &AtomicBool,
    take: TakeOutcome<'_>,
) -> Result<AskDone, Failure> {
    let arms = plan.arms.iter().map(ArmLink::open);
    let mut arms = arms.collect::<Result<Vec<_>, _>>()?;
    take(hello(plan, sample, &arms));
    let mut refused = None;
    if plan.set_timestamp {
        for arm in &mut arms {
            refused = refused.or(arm.refuses_timestamp()?);
        }
    }
    let mut run = AskRun {
        plan,
        sample,
        stop,
        begun: Instant::now(),
        progress: Instant::now(),
        timed: None,
        spent: vec![Duration::ZERO; sample.templates.len()],
        manner: AskManner {
            limit: Duration::from_secs_f64(plan.limit_s),
            sets_timestamp: plan.set_timestamp && refused.is_none(),
        },
        tallies: vec![TemplateTally::new(arms.len()); sample.templates.len()],
        places: places(sample),
        missing: Vec::new(),
        arms,
    };
    let cpu_before: Vec<_> = plan.arms.iter().map(cpu_ns).collect();
    let mut random = Stream::new(plan.seed, 3);
    let mut warm = 0;
    let mut ended = None;
    if plan.warm {
        let first = warm_statements(sample, &mut random);
        ended = run.pass(&first, None, &mut warm, take)?;
    }
    let mut asked = 0;
    let warm_s = run.begun.elapsed().as_secs_f64();
    run.timed = Some(Instant::now());
    let mut all: Vec<_> = (0..sample.statements.len()).collect();
    shuffle(&mut all, &mut random);
    for lap in all.chunks_mut(LAP) {
        for round in 0..plan.rounds {
            if ended.is_none() {
                shuffle(lap, &mut random);
                ended = run.pass(lap, Some(round), &mut asked, take)?;
            }
        }
    }
    let cpu_after = plan.arms.iter().map(cpu_ns);
    let cpu_ns = cpu_before.into_iter().zip(cpu_after);
    let cpu_us = cpu_ns.map(|(before, after)| Some((after?.checked_sub(before?)?) as f64 / 1e3));
    let cpu_us = cpu_us.collect();
    let ended = ended.unwrap_or(AskEnded::Done);
    let done = run.done(ended, cpu_us, refused);
    Ok(AskDone {
        warm,
        warm_s,
        ..done
    })
}

fn hello(plan: &AskPlan, sample: &AskSample, arms: &[ArmLink<'_>]) -> AskOutcome {
    let arms = plan.arms.iter().zip(arms).map(|(arm, link)| AskHelloArm {
        arm: arm.name.clone(),
        server_version: link.server_version.clone(),
    });
    AskOutcome::Hello(AskHello {
        version: ASK_OUTCOME_VERSION,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        recording: sample.recording.clone(),
        statements: sample.statements.len() as u64,
        templates: sample.templates.len() as u64,
        arms: arms.collect(),
    })
}

/// CPU time of an arm's processes.
fn cpu_ns(arm: &AskArm) -> Option<u64> {
    let watch = arm.watch.as_ref()?;
    let pids = std::iter::once(&watch.pid).chain(&watch.more);
    pids.map(|pid| process_cpu_ns(*pid)).sum()
}

/// The place of each statement within its template.
fn places(sample: &AskSample) -> Vec<u64> {
    let mut counts = vec![0; sample.templates.len()];
    let statements = sample.statements.iter();
    statements
        .map(|statement| match counts.get_mut(statement.template) {
            Some(count) => std::mem::replace(count, *count + 1),
            None => 0,
        })
        .collect()
}

/// The statements to send before the first round: one of each template, so that its tables are open
/// and their statistics read, and others up to a tenth of all. All of them would double the time; a
/// cold page costs every arm about the same, since the order of the arms is random.
fn warm_statements(sample: &AskSample, random: &mut Stream) -> Vec<usize> {
    let mut all: Vec<_> = sample.statements.iter().enumerate().collect();
    shuffle(&mut all, random);
    let mut seen = vec![false; sample.templates.len()];
    let (mut first, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, statement)| {
        let seen = seen.get_mut(statement.template);
        seen.is_some_and(|seen| !std::mem::replace(seen, true))
    });
    let more = (sample.statements.len() / WARM_PART).saturating_sub(first.len());
    first.extend(rest.into_iter().take(more));
    shuffle(&mut first, random);
    first.into_iter().map(|(place, _)| place).collect()
}

struct AskRun<'p> {
    plan: &'p AskPlan,
    sample: &'p AskSample,
    stop: &'p AtomicBool,
    begun: Instant,
    /// The last progress line.
    progress: Instant,
    /// The beginning of the first round.
    timed: Option<Instant>,
    /// Time for the statements of each template, on all arms.
    spent: Vec<Duration>,
    manner: AskManner,
    arms: Vec<ArmLink<'p>>,
    tallies: Vec<TemplateTally>,
    /// The place of each statement within its template.
    places: Vec<u64>,
    /// Tables that any arm lacks, the first one first, and how many statements failed for each.
    missing: Vec<(String, u64)>,
}

impl AskRun<'_> {
    /// Sends these statements, in this order: in a round, or before the first one. Returns why it
    /// ended before the last.
    fn pass(
        &mut self,
        places: &[usize],
        round: Option<u32>,
        asked: &mut u64,
        take: TakeOutcome<'_>,
    ) -> Result<Option<AskEnded>, Failure> {
        let of = match round {
            None => places.len() as u64,
            Some(_) => self.sample.statements.len() as u64 * u64::from(self.plan.rounds),
        };
        for place in places {
            if let Some(ended) = self.ended() {
                return Ok(Some(ended));
            }
            if self.progress.elapsed() >= PROGRESS {
                self.progress = Instant::now();
                take(AskOutcome::AskProgress(AskProgress {
                    phase: round.map_or("warm", |_| "timed").to_owned(),
                    asked: *asked,
                    of,
                    elapsed_s: self.begun.elapsed().as_secs_f64(),
                }));
            }
            let Some(statement) = self.sample.statements.get(*place) else {
                continue;
            };
            let tally = self.tallies.get(statement.template);
            if tally.is_none_or(TemplateTally::is_stopped) || self.had_its_part(statement.template)
            {
                continue;
            }
            let begun = Instant::now();
            let Some(answers) = self.ask(*place, statement, round.unwrap_or(0))? else {
                return Ok(Some(AskEnded::Signal));
            };
            *asked += 1;
            if let Some(tally) = self.tallies.get_mut(statement.template) {
                match round {
                    None => tally.warm(&answers),
                    Some(_) => tally.add(statement, &answers),
                }
            }
            if round.is_some() {
                self.note_missing(&answers);
                if let Some(spent) = self.spent.get_mut(statement.template) {
                    *spent += begun.elapsed();
                }
            }
        }
        Ok(None)
    }

    fn ended(&self) -> Option<AskEnded> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(AskEnded::Signal);
        }
        let (limit_s, timed) = (self.plan.for_s?, self.timed?);
        (timed.elapsed().as_secs_f64() >= limit_s).then_some(AskEnded::Time)
    }

    /// Whether a template has used its part of the time limit.
    fn had_its_part(&self, template: usize) -> bool {
        let Some(limit_s) = self.plan.for_s else {
            return false;
        };
        let part_s = PARTS_EACH * limit_s / self.tallies.len().max(1) as f64;
        let spent_s = self.spent.get(template).map_or(0.0, Duration::as_secs_f64);
        let tally = self.tallies.get(template);
        spent_s >= part_s && tally.is_some_and(|tally| tally.asked >= FEWEST)
    }

    /// Sends a statement to all arms and returns their answers in the order of the plan; none if a
    /// signal came before the last arm.
    fn ask(
        &mut self,
        place: usize,
        statement: &SampledStatement,
        round: u32,
    ) -> Result<Option<Vec<AskedOnce>>, Failure> {
        let place = self.places.get(place).copied().unwrap_or_default();
        let number = place * u64::from(self.plan.rounds) + u64::from(round);
        let random = Stream::new(self.plan.seed, 2).part(statement.template as u64);
        let mut answers = vec![None; self.arms.len()];
        for arm in balanced(self.arms.len(), number, &random) {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if let (Some(link), Some(answer)) = (self.arms.get_mut(arm), answers.get_mut(arm)) {
                *answer = Some(link.ask(statement, &self.sample.databases, self.manner)?);
            }
        }
        Ok(answers.into_iter().collect())
    }

    fn note_missing(&mut self, answers: &[AskedOnce]) {
        let mut names: Vec<_> = answers
            .iter()
            .filter_map(|asked| match &asked.answer {
                AskAnswer::Refused { missing, .. } => missing.as_ref(),
                _ => None,
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            match self.missing.iter_mut().find(|(known, _)| known == name) {
                Some((_, count)) => *count += 1,
                None => self.missing.push((name.clone(), 1)),
            }
        }
    }

    fn done(
        &self,
        ended: AskEnded,
        cpu_us: Vec<Option<f64>>,
        timestamp_refused: Option<TimestampRefused>,
    ) -> AskDone {
        let names: Vec<_> = self.plan.arms.iter().map(|arm| arm.name.as_str()).collect();
        let mut latency = Latency::new();
        let rows = self.sample.templates.iter().zip(&self.tallies);
        let templates: Vec<_> = rows
            .clone()
            .map(|(row, tally)| tally.figures(row, self.plan.rounds, &names, &mut latency))
            .collect();
        let mut sums = vec![ArmTally::default(); names.len()];
        for tally in &self.tallies {
            sums.iter_mut()
                .zip(&tally.arms)
                .for_each(|(sum, arm)| sum.merge(arm));
        }
        let arms = names.iter().zip(&sums).zip(&self.arms).zip(cpu_us);
        let arms = arms.map(|(((name, sum), link), watched_cpu_us)| AskedArm {
            arm: (*name).to_owned(),
            figures: sum.figures(&mut latency),
            watched_cpu_us,
            reconnects: link.reconnects,
        });
        let is_incomplete =
            |tally: &TemplateTally, planned| !tally.is_stopped() && tally.asked < planned;
        let left_out = self.sample.left_out.iter();
        let left_out: BTreeMap<_, _> = left_out
            .map(|(reason, left_out)| ((*reason).to_owned(), left_out.clone()))
            .collect();
        let missing = self.missing.iter().take(MISSING_NAMED);
        AskDone {
            ended,
            elapsed_s: self.begun.elapsed().as_secs_f64(),
            shares_of: if self.sample.is_by_time {
                "time"
            } else {
                "calls"
            }
            .to_owned(),
            asked: templates.iter().map(|template| template.asked).sum(),
            planned: templates.iter().map(|template| template.planned).sum(),
            warm: 0,
            warm_s: 0.0,
            incomplete_templates: templates
                .iter()
                .zip(&self.tallies)
                .filter(|(row, tally)| is_incomplete(tally, row.planned))
                .count() as u64,
            arms: arms.collect(),
            left_out,
            missing_tables: missing
                .map(|(table, statements)| MissingTable {
                    table: table.clone(),
                    statements: *statements,
                })
                .collect(),
            missing_tables_total: self.missing.len() as u64,
            missing_tables_share: rows
                .map(|(row, tally)| row.share * tally.missing_share())
                .sum(),
            timestamp_refused,
            templates,
        }
    }
}
