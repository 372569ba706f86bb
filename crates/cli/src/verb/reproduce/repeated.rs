//! Further published measurements of a table's cells, beside the simulated values.

use super::metric::ratio;
use numalab_model::published::{Published, Repeat as Given, RepeatedRow};
use numalab_report::reproduce::{Cell, Repeat};

/// The repeated measurements of a table, reduced to cells that were simulated.
pub fn repeats(published: &Published, cells: &[Cell]) -> Vec<Repeat> {
    published.repeats.iter().map(|given| repeat(published, given, cells)).collect()
}

fn repeat(published: &Published, given: &Given, cells: &[Cell]) -> Repeat {
    let (mut again, mut simulated) = (Vec::new(), Vec::new());
    for row in &given.rows {
        for &column in &given.columns {
            let id = format!("{}/{}/{}", published.name.value, published.columns[column].name, row.id);
            if let Some(cell) = cells.iter().find(|c| c.id == id && c.group == row.group) {
                again.push(measured(published, given, row, column, cell));
                simulated.push(cell.clone());
            }
        }
    }
    Repeat { name: given.name.clone(), source: given.source.clone(), again, simulated }
}

/// A cell with the repeated measurement in place of the simulated value. Its ratio refers to the same column as the
/// other ratios of the row.
fn measured(published: &Published, given: &Given, row: &RepeatedRow, column: usize, cell: &Cell) -> Cell {
    let of = |b: &&numalab_model::published::Block| b.group == row.group;
    let base = published.blocks.iter().filter(of).flat_map(|b| &b.rows).find(|r| r.id == row.id).and_then(|r| r.base);
    let value = given.value(row, column);
    let to = given.value(row, base.unwrap_or(published.baseline));
    Cell { simulated: value, simulated_ratio: ratio(value, to), ..cell.clone() }
}
