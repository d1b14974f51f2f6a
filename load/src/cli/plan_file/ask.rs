//! Reads the plan of `recording ask`.

use super::{Version, check_members, check_server, in_words, range, text_of, time};
use contend_plan::{ASK_ARMS_MAX, ASK_PLAN_VERSION, AskPlan};

/// Statements per template, templates and rounds.
const COUNT_MAX: u32 = 1_000_000;

/// Reads the plan at `source`, a path or `-` for standard input.
///
/// # Errors
/// One line for the reader of the plan.
pub fn read_ask(source: &str) -> Result<AskPlan, String> {
    parse(&text_of(source)?)
}

fn parse(text: &str) -> Result<AskPlan, String> {
    let wrong = |error: serde_json::Error| in_words(&error.to_string());
    let Version { version } = serde_json::from_str(text).map_err(wrong)?;
    if version != ASK_PLAN_VERSION {
        return Err(format!(
            "the plan has version {version}, but this program reads version {ASK_PLAN_VERSION}; \
             use the contend-load installed with the contend that wrote the plan"
        ));
    }
    let plan: AskPlan = serde_json::from_str(text).map_err(wrong)?;
    if plan.arms.is_empty() || plan.arms.len() > ASK_ARMS_MAX {
        return Err(format!(
            "arms: {} is not between 1 and {ASK_ARMS_MAX}",
            plan.arms.len()
        ));
    }
    let members = plan.arms.iter().map(|arm| (arm.name.as_str(), None));
    check_members("arms", "an arm", members)?;
    for (place, arm) in plan.arms.iter().enumerate() {
        check_server(&arm.server).map_err(|words| format!("arms[{place}].{words}"))?;
    }
    range("each", plan.each, 1, COUNT_MAX)?;
    range("templates", plan.templates, 1, COUNT_MAX)?;
    range("rounds", plan.rounds, 1, COUNT_MAX)?;
    time("limit_s", plan.limit_s, 0.001)?;
    if let Some(for_s) = plan.for_s {
        time("for_s", for_s, 0.001)?;
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_plan_says_what_it_says_and_a_wrong_one_where_it_is_wrong() {
        let arm = json!({"name": "a", "server": {"socket": "/s"}});
        let plan = json!({"version": 1, "recording": "r", "arms": [arm]});
        let read = parse(&plan.to_string()).unwrap();
        assert_eq!((read.each, read.templates, read.rounds), (100, 250, 1));
        assert!(read.warm && read.set_timestamp && !read.writes);
        for (key, value, said) in [
            ("version", json!(2), "version 2"),
            ("arms", json!([]), "arms: 0"),
            ("arms", json!([arm, arm]), "arms[1].name"),
            (
                "arms",
                json!([{"name": "a", "server": {}}]),
                "arms[0].server",
            ),
            ("each", json!(0), "each"),
            ("limit_s", json!(0), "limit_s"),
            ("for_s", json!(-1), "for_s"),
            ("template", json!(1), "did you mean `templates`"),
        ] {
            let mut wrong = plan.clone();
            wrong[key] = value;
            let refusal = parse(&wrong.to_string()).unwrap_err();
            assert!(refusal.contains(said), "{refusal}");
        }
    }
}
