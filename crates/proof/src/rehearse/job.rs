//! The jobs of a migration on the database of a rehearsal: page by page, under the plan's conditions, while the
//! application changes some of the items that were just read.

use model::migrate::StepKind;
use model::predict::item::Values;

use super::message;
use super::stage::Stage;
use crate::migrate::form::Form;
use crate::migrate::job::{Job, JobDecision, jobs, jobs_back};
use crate::migrate::request::{Page, PageOf, get, page, send};

/// Few items per page, so that a job has many pages between which something can happen.
const PAGE_ITEMS: i32 = 4;
/// The application deletes items during a job only while there are more than this.
const LEAST: usize = 6;

/// What a job did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub written: usize,
    /// Items that the application changed, deleted or wrote between the job's read and its write.
    pub refused: usize,
}

impl<'m> Stage<'m> {
    /// The jobs of a step that fills: again and again, until a run writes nothing. The application disturbs the
    /// first run; the second writes what the first could not, and the third must find nothing to do.
    pub async fn fill(&mut self, kind: &StepKind) -> Result<Done, String> {
        let mut done = Done::default();
        for job in jobs(self.layout, kind) {
            done += self.over_pages(&job, true).await?;
            done.written += self.over_pages(&job, false).await?.written;
            let more = self.over_pages(&job, false).await?.written;
            if more > 0 {
                return Err(format!("run again and again, the job still wrote {more} items"));
            }
        }
        Ok(done)
    }

    /// The jobs of a step that clears away, once.
    pub async fn clear(&mut self, kind: &StepKind) -> Result<Done, String> {
        let mut done = Done::default();
        for job in jobs(self.layout, kind) {
            done += self.over_pages(&job, false).await?;
        }
        Ok(done)
    }

    /// The jobs of the way back from a step.
    pub async fn restore(&mut self, kind: &StepKind) -> Result<(), String> {
        for job in jobs_back(self.layout, kind) {
            self.over_pages(&job, false).await?;
        }
        Ok(())
    }

    /// Lets the job change each item of the form. If `disturbed`, the application writes between reading a page and
    /// writing it.
    async fn over_pages(&mut self, job: &Job<'_>, disturbed: bool) -> Result<Done, String> {
        let (mut done, mut start) = (Done::default(), None);
        loop {
            let of = PageOf { table: job.form.table(), segment: None, start, limit: Some(PAGE_ITEMS) };
            let Page { items, next, .. } = page(self.database.endpoint(), of).await.map_err(message)?;
            let own: Vec<Values> = items.into_iter().filter(|item| job.form.recognises(item)).collect();
            if disturbed {
                self.disturb(job.form, &own).await?;
            }
            for item in &own {
                let endpoint = self.database.endpoint();
                let counterpart = match job.counterpart(item) {
                    Some((table, key)) => get(endpoint, table, &key).await.map_err(message)?,
                    None => None,
                };
                let JobDecision::Write(changes) = job.decide(item, counterpart.as_ref()) else { continue };
                match send(endpoint, changes).await.map_err(message)?.written {
                    true => done.written += 1,
                    false => done.refused += 1,
                }
            }
            start = next;
            if start.is_none() {
                return Ok(done);
            }
        }
    }

    /// The application changes, deletes or creates an item, in turn.
    async fn disturb(&mut self, form: Form<'_>, items: &[Values]) -> Result<(), String> {
        let (Some(first), Some(last)) = (items.first(), items.last()) else { return Ok(()) };
        self.turn += 1;
        let entity = form.entity().name.value.clone();
        let at = |stage: &Self, item: &Values| {
            let key = form.key(item);
            let own = stage.positions(&entity).into_iter();
            own.into_iter().find(|position| form.key(&stage.ledger[*position].stored(form)) == key)
        };
        match self.turn % 3 {
            0 => match at(self, first) {
                Some(position) => self.change(position).await,
                None => Ok(()),
            },
            1 => match at(self, last).filter(|_| self.positions(&entity).len() > LEAST) {
                Some(position) => self.delete(position).await,
                None => Ok(()),
            },
            _ => self.create_another(&entity).await,
        }
    }
}

impl std::ops::AddAssign for Done {
    fn add_assign(&mut self, other: Done) {
        self.written += other.written;
        self.refused += other.refused;
    }
}
