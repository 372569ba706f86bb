//! The loop that draws frames until the user ends it.

use super::screen::{draw, Key, View};
use super::{Frame, Sample, Sampler};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::time::{Duration, Instant};

/// What a key press means: a key of the view, or the end (`None` inside). `None` for a key without meaning.
fn meaning(key: &KeyEvent) -> Option<Option<Key>> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let ends = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        _ if ends => Some(None),
        KeyCode::Char('q') | KeyCode::Esc => Some(None),
        KeyCode::Down | KeyCode::Char('j') => Some(Some(Key::Down)),
        KeyCode::Up | KeyCode::Char('k') => Some(Some(Key::Up)),
        KeyCode::Char('t') | KeyCode::Enter => Some(Some(Key::Threads)),
        KeyCode::Char('m') => Some(Some(Key::Order)),
        KeyCode::Char(' ') => Some(Some(Key::Pause)),
        _ => None,
    }
}

/// Draws a frame every `every` until the user ends it. The terminal is restored at the end, also after a panic.
///
/// # Errors
/// The terminal refuses, or the scope's control group has gone, in words.
pub fn run(sampler: &mut Sampler, every: Duration) -> Result<(), String> {
    let mut last = sampler.take()?;
    let mut terminal = ratatui::try_init().map_err(|e| format!("terminal: {e}"))?;
    let ended = follow(&mut terminal, sampler, &mut last, every);
    ratatui::restore();
    ended
}

fn follow(
    terminal: &mut ratatui::DefaultTerminal,
    sampler: &mut Sampler,
    last: &mut Sample,
    every: Duration,
) -> Result<(), String> {
    let terminal_error = |e: std::io::Error| format!("terminal: {e}");
    let mut view = View::default();
    // The first frame comes soon, so that the screen is not empty for long.
    let mut next = Instant::now() + every.min(Duration::from_millis(300));
    let mut frame: Option<Frame> = None;
    loop {
        if !view.paused && Instant::now() >= next {
            let sample = sampler.take()?;
            frame = Some(Frame::between(last, &sample));
            *last = sample;
            next = Instant::now() + every;
        }
        if let Some(f) = &frame {
            terminal.draw(|screen| draw(screen, f, &view)).map_err(terminal_error)?;
        }
        let wait = if view.paused { every } else { next.saturating_duration_since(Instant::now()) };
        if event::poll(wait).map_err(terminal_error)? {
            if let Event::Key(key) = event::read().map_err(terminal_error)? {
                match meaning(&key) {
                    Some(None) => return Ok(()),
                    Some(Some(key)) => view.press(key, frame.as_ref().map_or(0, |f| f.processes.len())),
                    None => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_meanings() {
        let key = |code, modifiers| meaning(&KeyEvent::new(code, modifiers));
        let plain = |c| key(KeyCode::Char(c), KeyModifiers::NONE);
        assert_eq!((plain('q'), key(KeyCode::Char('c'), KeyModifiers::CONTROL)), (Some(None), Some(None)));
        assert_eq!((plain('c'), plain('t')), (None, Some(Some(Key::Threads))));
        assert_eq!(key(KeyCode::Up, KeyModifiers::NONE), Some(Some(Key::Up)));
    }
}
