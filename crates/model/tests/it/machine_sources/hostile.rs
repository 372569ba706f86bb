//! Mutated inputs of every form: no panic, and whatever is imported loads.

use super::world::example;
use numalab_model::machine::{from_toml, import};
use proptest::prelude::*;

fn mutated(text: &[u8], at: usize, remove: usize, insert: &[u8]) -> Vec<u8> {
    let at = at.min(text.len());
    let end = (at + remove).min(text.len());
    [&text[..at], insert, &text[end..]].concat()
}

fn try_import(bytes: &[u8]) {
    if let Ok(toml) = import::bytes("x", bytes, "x") {
        let loaded = from_toml("x", &toml);
        assert!(loaded.is_ok(), "{:?}\n{toml}", loaded.err());
    }
}

/// Pieces that occur in the forms, and numbers at the limits.
fn insert() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "0",
        "255",
        "-1",
        "4096",
        "65535",
        "4294967295",
        "18446744073709551615",
        "99999999999999999999",
        "0-4095",
        ",",
        ":",
        "\n",
        "(",
        ")",
        "P#",
        "L#",
        "node ",
        " cpus: ",
        "MB",
        "\0",
        "\u{202e}",
        "PU:2",
        "<object type=\"PU\" os_index=\"1\"/>",
        "\"",
        "NaN",
        "1e999",
    ];
    prop_oneof![
        4 => proptest::sample::select(pieces.map(|p| p.as_bytes().to_vec()).to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_texts_never_panic(form in 0..9_usize, changes in proptest::collection::vec((0..12_000_usize, 0..40_usize, insert()), 1..4)) {
        let w = example();
        let synthetic = "Package:2 Group:2 [NUMANode(memory=8GB)] L3Cache:2(size=16MB) Core:2 PU:2(indexes=2*16:1*2)".to_string();
        let rows = "{\"cpus\": [{\"cpu\": 0, \"core\": 0, \"socket\": 0, \"node\": 0, \"l1d:l2\": \"0:0\", \"online\": true}, {\"cpu\": 1, \
                    \"core\": 1, \"socket\": 0, \"node\": 1, \"l1d:l2\": \"1:1\", \"online\": false}]}".to_string();
        let lscpu = [w.lscpu(), w.lscpu_terminal(), w.lscpu_json(), w.lscpu_table(), rows];
        let forms = [w.numactl(), w.hwloc_xml(), w.lstopo(), synthetic].into_iter().chain(lscpu).collect::<Vec<_>>();
        let mut text = forms[form].as_bytes().to_vec();
        for (at, remove, insert) in changes {
            text = mutated(&text, at % (text.len() + 1), remove, &insert);
        }
        try_import(&text);
    }

    #[test]
    fn mutated_archives_never_panic(at in 0..200_000_usize, remove in 0..600_usize, insert in insert()) {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, text) in example().sysfs_files(true) {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_cksum();
            builder.append_data(&mut header, format!("sys/devices/system/{path}"), text.as_bytes()).unwrap();
        }
        let bytes = builder.into_inner().unwrap();
        try_import(&mutated(&bytes, at % bytes.len(), remove, &insert));
    }
}
