//! Expressions: values, units, errors with their column, and properties over random trees.

use numalab_model::expr::{Env, Expr, Formula, Unit, Value, MAX_DEPTH, MAX_NODES};
use numalab_model::spec::Spot;
use proptest::prelude::*;

fn env() -> Env {
    let mut env = Env::default();
    env.set("cpus", Value::plain(48.0));
    env.set("threads", Value::plain(24.0));
    env.set("llc_total", Value::bytes(72.0 * 1024.0 * 1024.0));
    env
}

fn eval(text: &str) -> Value {
    Expr::parse(text).and_then(|e| e.eval(&env())).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn plain(text: &str) -> f64 {
    let v = eval(text);
    assert_eq!(v.unit, Unit::NONE, "{text}");
    v.number
}

/// Column from 1, what is wrong, and the nearest name.
fn refused(text: &str) -> (usize, String, Option<String>) {
    let e = Expr::parse(text).and_then(|e| e.eval(&env())).expect_err(text);
    (e.offset + 1, e.to_string(), e.nearest)
}

#[test]
fn arithmetic_follows_the_usual_precedence() {
    assert_eq!(plain("2 + 3 * 4 - 1"), 13.0);
    assert_eq!(plain("(2 + 3) * 4"), 20.0);
    assert_eq!(plain("-2 * -3"), 6.0);
    assert_eq!(plain("2 - 3 - 4"), -5.0);
    assert_eq!(plain("100 / 5 / 2"), 10.0);
    assert_eq!(plain("1e3 + 2.5e-1 + 1_000"), 2000.25);
    assert_eq!(plain("cpus//2"), 24.0);
    assert_eq!(plain("7 // 2"), 3.0);
    assert_eq!(plain("-7 // 2"), -4.0);
    assert_eq!(plain("-7 % 2"), 1.0);
    assert_eq!(plain("7 % -2"), -1.0);
    assert_eq!(plain("1 + 1 == 2"), 1.0);
    assert_eq!(plain("1 < 2 and not 2 < 1 or 0"), 1.0);
    assert_eq!(plain("not 1 == 2"), 1.0);
    assert_eq!(plain("0 or 5"), 1.0);
}

#[test]
fn functions_do_what_they_say() {
    assert_eq!(plain("min(3, 1, 2) + max(3, 1, 2)"), 4.0);
    assert_eq!(plain("floor(-1.5)"), -2.0);
    assert_eq!(plain("ceil(1.2)"), 2.0);
    assert_eq!(plain("round(2.5)"), 3.0);
    assert_eq!(plain("log2(1024)"), 10.0);
    assert_eq!(plain("if(cpus > 8, 8 + (cpus - 8) * 5 // 8, cpus)"), 33.0);
}

#[test]
fn units_are_kept_and_combined() {
    assert_eq!(eval("3GiB / threads"), Value::bytes(128.0 * 1024.0 * 1024.0));
    assert_eq!(eval("3 GiB"), eval("3GiB"));
    assert_eq!(eval("8 * llc_total"), Value::bytes(576.0 * 1024.0 * 1024.0));
    assert_eq!(eval("1KiB + 1KB + 1B"), Value::bytes(2025.0));
    assert_eq!(eval("1TiB - 1024GiB"), Value::bytes(0.0));
    assert_eq!(eval("1TB + 1GB + 1MB"), Value::bytes(1_001_001_000_000.0));
    assert_eq!(eval("1s + 1ms + 1us + 1ns"), Value::time_ns(1_001_001_001.0));
    assert_eq!(plain("llc_total / 1MiB"), 72.0);
    assert!((plain("10s * (20000 / 1s)") - 200_000.0).abs() < 1e-9);
    assert_eq!(eval("max(0, 1KiB)"), Value::bytes(1024.0));
    assert_eq!(eval("if(1, 2us, 3)"), Value::time_ns(2000.0));
    assert_eq!(plain("2KiB > 0"), 1.0);
    assert_eq!(eval("512MiB // 3 // 8"), Value::bytes(22_369_621.0));
}

#[test]
fn only_the_chosen_branch_is_evaluated() {
    assert_eq!(plain("if(threads > 0, 1, 1 / 0)"), 1.0);
    assert_eq!(plain("threads == 0 and 1 / 0"), 0.0);
    assert_eq!(plain("threads > 0 or 1 / 0"), 1.0);
}

#[test]
fn errors_name_the_place_and_the_nearest_name() {
    let (column, text, near) = refused("cpsu / 2");
    assert_eq!((column, near.as_deref()), (1, Some("cpus")), "{text}");
    let (column, text, near) = refused("cpus + flor(1.5)");
    assert_eq!((column, near.as_deref()), (8, Some("floor")), "{text}");
    let (column, text, near) = refused("3 * 2Gib");
    assert_eq!((column, near.as_deref()), (6, Some("GiB")), "{text}");
    for (text, column, what) in [
        ("1 / 0", 3, "division by zero"),
        ("cpus // (cpus - 48)", 6, "division by zero"),
        ("5 % 0", 3, "division by zero"),
        ("1e308 * 10", 7, "too large"),
        ("1e999", 1, "too large"),
        ("1KiB + 1s", 6, "do not go together"),
        ("1KiB < 3", 6, "do not go together"),
        ("min(1KiB, 1s)", 1, "do not go together"),
        ("log2(0)", 1, "`log2` of 0"),
        ("log2(1KiB)", 1, "`log2` of a size in bytes"),
        ("if(1s, 1, 2)", 1, "the condition is a time"),
        ("1KiB and 1", 6, "the condition is a size"),
        ("", 1, "unexpected end"),
        ("1 +", 4, "unexpected end"),
        ("(1", 3, "unexpected end"),
        ("1)", 2, "unexpected `)`"),
        ("1 2", 3, "unexpected `2`"),
        ("2 cpus", 3, "unexpected `c`"),
        ("a = 1", 3, "`=` is not an operator"),
        ("1 < 2 < 3", 7, "do not chain"),
        ("min()", 1, "`min` has 0 arguments"),
        ("if(1, 2)", 1, "`if` has 2 arguments"),
        ("floor(1, 2)", 1, "`floor` has 2 arguments"),
        ("1KiB*1KiB*1KiB*1KiB*1KiB", 20, "too high a power"),
        ("über", 1, "unexpected `ü`"),
        ("1 $ 2", 3, "unexpected `$`"),
        ("cpus + a.b", 8, "`a.b` is not known here"),
        ("cpus.5", 5, "unexpected `.`"),
        ("cpus.", 5, "unexpected `.`"),
    ] {
        let (at, message, _) = refused(text);
        assert!(message.contains(what), "{text}: {message}");
        assert_eq!(at, column, "{text}: {message}");
    }
}

#[test]
fn plain_numbers_stand_for_names_and_units_are_refused() {
    let expr = |text: &str| Expr::parse(text).expect(text);
    let lookup = |name: &str| match name {
        "a" => Some(6.0),
        "b.c" => Some(3.0),
        _ => None,
    };
    assert_eq!(expr("a / b.c * 100").eval_plain(lookup), Ok(200.0));
    assert_eq!(expr("b.c / (a + b.c)").names(), [("b.c", 0), ("a", 7), ("b.c", 11)]);
    assert_eq!(expr("a + x").eval_plain(lookup).map_err(|e| e.offset), Err(4));
    assert_eq!(expr("a / 0").eval_plain(lookup).map_err(|e| e.what), Err("division by zero".into()));
    assert_eq!(expr("a * 4KiB").eval_plain(lookup).map_err(|e| e.what), Err("the value is a size in bytes".into()));
    let e = expr("a * (1 + 4KiB)").check_plain().expect_err("a unit");
    assert_eq!((e.offset, e.what.as_str()), (9, "`4KiB` is a size in bytes"));
    assert_eq!(expr("max(a, 1) // 2").check_plain(), Ok(()));
}

#[test]
fn depth_and_length_are_limited() {
    let nested = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    assert_eq!(plain(&nested(MAX_DEPTH)), 1.0);
    assert!(refused(&nested(MAX_DEPTH + 1)).1.contains("too deeply"));
    assert!(refused(&"(".repeat(8000)).1.contains("too deeply"));
    assert!(refused(&"-".repeat(8000)).1.contains("too deeply"));
    assert!(refused(&"not ".repeat(2000)).1.contains("too deeply"));
    assert!(refused(&"min(".repeat(2000)).1.contains("too deeply"));
    let sum = |n: usize| format!("1{}", "+1".repeat(n - 1));
    assert_eq!(plain(&sum(MAX_NODES / 2)), (MAX_NODES / 2) as f64);
    assert!(refused(&sum(MAX_NODES)).1.contains("too long"));
    assert!(refused(&"1".repeat(10_000)).1.contains("10000 bytes"));
}

#[test]
fn places_are_counted_from_where_the_text_stands() {
    let at = |text: &str| Spot { value: text.to_string(), file: "f.toml".into(), line: 7, column: 10 };
    let e = Formula::parse("size", at("2 *\n  3Gib")).expect_err("a wrong unit");
    assert_eq!((e.line, e.column), (8, 4), "{e}");
    let f = Formula::parse("size", at("1MiB - 2MiB")).expect("an expression");
    let e = f.bytes(&env(), 1).expect_err("negative");
    assert_eq!((e.line, e.column), (7, 10));
    assert_eq!(
        e.to_string(),
        "f.toml:7:10: `size` is -1MiB (from `1MiB - 2MiB`); expected a size above 0, up to 8 PiB"
    );
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    let f = |text: &str| {
        let spot = Spot { value: text.to_string(), file: "f".into(), line: 1, column: 1 };
        Formula::parse("key", spot).expect(text)
    };
    let env = env();
    let text = |e: numalab_model::spec::SpecError| e.to_string();
    assert!(text(f("10").time_ns(&env).expect_err("")).contains("`key` is a plain number (10); expected a time"));
    assert!(text(f("10s").bytes(&env, 1).expect_err("")).contains("`key` is a time (10s); expected a size"));
    assert!(text(f("1KiB").whole(&env, 0, 9).expect_err("")).contains("`key` is a size in bytes (1KiB)"));
    assert!(text(f("cpus/5").whole(&env, 0, 99).expect_err("")).contains("9.6 (from `cpus/5`)"));
    assert!(text(f("10").whole(&env, 0, 9).expect_err("")).contains("from 0 to 9"));
    assert!(text(f("1e300").whole(&env, 0, u64::MAX).expect_err("")).contains("from 0 to 9007199254740992"));
    assert!(text(f("-1s").time_ns(&env).expect_err("")).contains("-1s"));
    assert_eq!(f("0").time_ns(&env), Ok(0.0));
    assert_eq!(f("0").bytes(&env, 0), Ok((0, false)));
    // A value that differs from a whole number only by rounding counts as that number.
    assert_eq!(f("10s * (20000 / 1s)").whole(&env, 0, u64::MAX), Ok(200_000));
    assert_eq!(f("0.1 * 3 * 10KiB").bytes(&env, 0), Ok((3072, false)));
    assert_eq!(f("1TB + 0.1B").bytes(&env, 0), Ok((1_000_000_000_000, true)));
    assert_eq!(f("1TB - 0.1B").bytes(&env, 0), Ok((999_999_999_999, true)));
    assert_eq!(f("4KiB / 3").bytes(&env, 1), Ok((1365, true)));
}

/// A random expression as text, with its value computed here.
fn tree() -> impl Strategy<Value = (String, f64)> {
    let leaf = prop_oneof![
        (0u32..1000).prop_map(|n| (n.to_string(), f64::from(n))),
        Just(("cpus".to_string(), 48.0)),
        Just(("threads".to_string(), 24.0)),
        (0u32..1000, 1u32..1000).prop_map(|(a, b)| (format!("{a}.{b:03}"), f64::from(a * 1000 + b) / 1000.0)),
    ];
    leaf.prop_recursive(5, 60, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| (format!("({} + {})", a.0, b.0), a.1 + b.1)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| (format!("({}-{})", a.0, b.0), a.1 - b.1)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| (format!("{}*{}", a.0, paren(&b.0)), a.1 * b.1)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| (format!("min({}, {})", a.0, b.0), a.1.min(b.1))),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| (format!("({} <= {})", a.0, b.0), f64::from(u8::from(a.1 <= b.1)))),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(c, a, b)| {
                (format!("if({}, {}, {})", c.0, a.0, b.0), if c.1 != 0.0 { a.1 } else { b.1 })
            }),
            inner.prop_map(|a| (format!("-{}", paren(&a.0)), -a.1)),
        ]
    })
}

fn paren(text: &str) -> String {
    format!("({text})")
}

proptest! {
    #![proptest_config(crate::workload::property_config())]

    #[test]
    fn random_trees_have_the_value_worked_out_beside_them((text, value) in tree()) {
        // Every sum has parentheses around it, so precedence cannot change the value.
        match Expr::parse(&text).and_then(|e| e.eval(&env())) {
            Ok(v) => prop_assert_eq!(v.number, value, "{}", text),
            Err(e) => {
                let why = e.to_string();
                prop_assert!(why.contains("too large") || why.contains("too deeply"), "{}: {}", text, why);
            }
        }
    }

    #[test]
    fn quotient_and_remainder_make_up_the_number(a in -1_000_000i64..1_000_000, b in -10_000i64..10_000) {
        prop_assume!(b != 0);
        let (q, r) = (plain(&format!("({a}) // ({b})")), plain(&format!("({a}) % ({b})")));
        prop_assert_eq!(q * b as f64 + r, a as f64);
        prop_assert!(r == 0.0 || (r < 0.0) == (b < 0), "{} % {} = {}", a, b, r);
        prop_assert!(r.abs() < (b as f64).abs());
    }

    #[test]
    fn what_a_value_shows_parses_to_the_same_value(
        n in prop_oneof![any::<u32>().prop_map(f64::from), 0.0..1e12],
        k in 0usize..5,
    ) {
        let unit = [Unit::NONE, Unit::BYTES, Unit::TIME, Unit { bytes: 0, time: -1 }, Unit { bytes: 1, time: -1 }][k];
        let value = Value { number: n, unit };
        let text = value.to_string();
        let back = Expr::parse(&text).and_then(|e| e.eval(&Env::default()));
        let back = back.map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
        prop_assert_eq!(back.unit, unit);
        prop_assert!((back.number - n).abs() <= n.abs() * 1e-15, "{} {}", text, n);
    }

    #[test]
    fn no_text_panics(text in "[ -~\\n]{0,60}|[0-9a-z()+*/%<>=!., _-]{0,60}") {
        let _ = Expr::parse(&text).and_then(|e| e.eval(&env()));
    }

    #[test]
    fn no_unicode_text_panics(text in "\\PC{0,30}") {
        if let Err(e) = Expr::parse(&text) {
            prop_assert!(e.offset <= text.len());
            let spot = Spot { value: text, file: "f".into(), line: 1, column: 1 };
            let placed = e.at(&spot);
            prop_assert!(placed.line == 1 && placed.column >= 1);
        }
    }
}
