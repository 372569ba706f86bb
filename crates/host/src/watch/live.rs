//! The loop that draws frames until the user ends it.

use super::line::Line;
use super::screen::{draw, Key, View};
use super::{Frame, Sample, Sampler};
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::style::PrintStyledContent;
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{execute, queue};
use std::io::{self, Write};
use std::sync::Once;
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

/// The terminal as a screen of its own, until this is dropped.
struct Screen;

impl Screen {
    fn open() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        // The message of a panic must not be lost with the screen.
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if terminal::is_raw_mode_enabled().unwrap_or(false) {
                    restore();
                }
                before(panic);
            }));
        });
        terminal::enable_raw_mode()?;
        let screen = Self;
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        Ok(screen)
    }

    /// Shows lines from the top, each no wider than the screen.
    fn show(&self, lines: &[Line]) -> io::Result<()> {
        let mut out = Vec::new();
        for (y, line) in (0..).zip(lines) {
            // Cleared before it is written: behind a full line the cursor still stands on its last character.
            queue!(out, MoveTo(0, y), Clear(ClearType::CurrentLine))?;
            for piece in line {
                queue!(out, PrintStyledContent(piece.clone()))?;
            }
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(&out)?;
        stdout.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back. Errors are ignored: there is nobody left to be told.
fn restore() {
    let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
    let _ = terminal::disable_raw_mode();
}

/// Draws a frame every `every` until the user ends it. The terminal is restored at the end, also after a panic.
///
/// # Errors
/// The terminal refuses, or the scope's control group has gone, in words.
pub fn run(sampler: &mut Sampler, every: Duration) -> Result<(), String> {
    let mut last = sampler.take()?;
    let screen = Screen::open().map_err(|e| format!("terminal: {e}"))?;
    follow(&screen, sampler, &mut last, every)
}

fn follow(screen: &Screen, sampler: &mut Sampler, last: &mut Sample, every: Duration) -> Result<(), String> {
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
            let (width, height) = terminal::size().map_err(terminal_error)?;
            screen.show(&draw(f, &view, width.into(), height.into())).map_err(terminal_error)?;
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
