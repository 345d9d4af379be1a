/** Reads one outbox for as long as the daemon runs, says when it cannot, and goes on by itself. */
import type { Clock } from "../clock.ts";
import { WebhookdError } from "../domain/errors.ts";
import { counted } from "../domain/wording.ts";
import {
  placeOf,
  outboxTroubleText,
  type OutboxSettings,
  type OutboxStanding,
  type OutboxTrouble,
  type SetAsideRow,
} from "../domain/outbox/outbox.ts";
import type { Log } from "../log.ts";
import type { RowPublisher } from "./publisher.ts";
import { OutboxFault, type Counts, type OutboxTable } from "./table.ts";

/** The interval between reads if nobody says that there are new rows. */
const POLL_MS = 1000;
const COUNT_EVERY_MS = 2000;
const RETRY_MS = 1000;

export interface ReaderParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly table: OutboxTable;
  readonly publisher: RowPublisher;
  /** Called with what operators have to hear of. */
  readonly onFault: (outbox: string, detail: string) => void;
}

/** A trouble that lasts for longer wakes somebody up. */
const ALERT_MS = 60_000;

const UNCOUNTED: Counts = { waiting: null, oldestMs: null, setAside: null };

export class OutboxReader {
  readonly outbox: OutboxSettings;
  readonly place: string;
  readonly table: OutboxTable;
  readonly #parts: ReaderParts;
  #counts: Counts = UNCOUNTED;
  #trouble: OutboxTrouble | null = null;
  #since: number;
  /** False until the first answer. */
  #isKnown = false;
  #countAt = Number.NEGATIVE_INFINITY;
  /** The monotonic time of the first failure in a row. Null while all is well, and once it was reported. */
  #failingSince: number | null = null;
  /** The number of rows set aside that were reported. */
  #reported = 0;
  #isEnded = false;
  #running: Promise<void> = Promise.resolve();

  constructor(outbox: OutboxSettings, parts: ReaderParts) {
    this.outbox = outbox;
    this.place = placeOf(outbox);
    this.table = parts.table;
    this.#parts = parts;
    this.#since = parts.clock.now();
  }

  get standing(): OutboxStanding {
    const { published } = this.#parts.publisher;
    const isUp = this.#isKnown && this.#trouble === null;
    return { isUp, since: this.#since, trouble: this.#trouble, ...this.#counts, published };
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Resolves once nothing more is read, published or deleted. */
  async stop(): Promise<void> {
    this.#isEnded = true;
    this.table.wake();
    await this.#running;
    await this.table.close();
  }

  setAside(limit: number): Promise<readonly SetAsideRow[]> {
    return forCallers(this.table.setAside(limit));
  }

  retry(ids: readonly string[] | null): Promise<number> {
    return this.#changing(this.table.retry(ids));
  }

  drop(ids: readonly string[] | null): Promise<number> {
    return this.#changing(this.table.remove(ids));
  }

  /** Carries out the change, and has the rows counted again. */
  async #changing(change: Promise<number>): Promise<number> {
    const changed = await forCallers(change);
    this.#countAt = Number.NEGATIVE_INFINITY;
    this.table.wake();
    return changed;
  }

  async #run(): Promise<void> {
    const { clock, publisher } = this.#parts;
    while (!this.#isEnded) {
      let wait = POLL_MS;
      try {
        if (clock.monotonic() >= this.#countAt) {
          this.#counts = await this.table.look();
          this.#reportRows(this.#counts.setAside ?? 0);
          this.#countAt = clock.monotonic() + COUNT_EVERY_MS;
        }
        const done = await this.table.pass((rows) => publisher.publish(rows), publisher.resting());
        this.#note(null);
        if (done > 0) wait = 0;
      } catch (error) {
        this.#note(this.#troubleOf(error));
        this.table.drop();
        this.#countAt = Number.NEGATIVE_INFINITY;
        wait = RETRY_MS / 2;
        // An end of the wait would only say that the connection is gone.
        await new Promise<void>((resolve) => void (this.#isEnded ? resolve() : clock.after(RETRY_MS / 2, resolve)));
      }
      if (wait > 0 && !this.#isEnded) await this.table.wait(wait);
      // Others have their turn, however many rows there are.
      else await new Promise<void>((resolve) => clock.nextTurn(resolve));
    }
  }

  #troubleOf(error: unknown): OutboxTrouble {
    if (error instanceof OutboxFault) return error.trouble;
    if (error instanceof WebhookdError) {
      return {
        what: `its events cannot be stored: ${error.detail}`,
        todo: "see `webhookd status`; the rows wait meanwhile",
      };
    }
    this.#parts.log.error(
      { err: error, outbox: this.outbox.name },
      "an outbox could not be read; this is a bug in webhookd",
    );
    return { what: "webhookd failed to read it", todo: "please report the error in the log" };
  }

  #reportRows(setAside: number): void {
    const { name } = this.outbox;
    const more = setAside - this.#reported;
    this.#reported = setAside;
    if (more <= 0) return;
    const rows = counted(more, "row", "rows");
    this.#parts.onFault(name, `${rows} of the outbox ${name} cannot be events; webhookd outbox status says why`);
  }

  /** Reports a trouble once, when it has lasted for a while. */
  #reportTrouble(trouble: OutboxTrouble | null, isChange: boolean): void {
    const now = this.#parts.clock.monotonic();
    if (trouble === null) this.#failingSince = null;
    else if (isChange && this.#failingSince === null) this.#failingSince = now;
    if (trouble === null || this.#failingSince === null || now - this.#failingSince < ALERT_MS) return;
    this.#failingSince = null;
    const { name } = this.outbox;
    this.#parts.onFault(name, `${outboxTroubleText(`the outbox ${name}`, trouble)}; ${trouble.todo}`);
  }

  /** Says each change once. The server's words may differ from one time to the next, and are no change. */
  #note(trouble: OutboxTrouble | null): void {
    const { clock, log } = this.#parts;
    const before = this.#trouble;
    const isChange = !this.#isKnown || (before === null) !== (trouble === null) || before?.todo !== trouble?.todo;
    this.#trouble = trouble;
    this.#reportTrouble(trouble, isChange);
    if (!isChange) return;
    const isFirst = !this.#isKnown;
    this.#isKnown = true;
    this.#since = clock.now();
    const fields = { outbox: this.outbox.name };
    if (trouble !== null)
      log.error({ ...fields, ...trouble }, `${outboxTroubleText("an outbox", trouble)}; ${trouble.todo}`);
    else log.info(fields, isFirst ? "the outbox is read" : "the outbox is read again");
  }
}

async function forCallers<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof OutboxFault)) throw error;
    const { what, todo } = error.trouble;
    throw new WebhookdError("outbox_unavailable", `the outbox cannot be used: ${what}; ${todo}`, { cause: error });
  }
}
