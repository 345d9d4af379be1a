/** Handles requests one by one: checks the signature, keeps the request, responds as scripted, and reports it. */
import { ClientError, type Client } from "../../../src/client/client.ts";
import type { Io } from "../../io.ts";
import { forward } from "./forward.ts";
import { eventOf, judge, type Judgement } from "../signature/judgement.ts";
import type { KeptRequests } from "./kept-requests.ts";
import { currentSecrets } from "./registration.ts";
import type { Reception } from "./request-line.ts";
import { statusFor, type Script } from "./script.ts";
import type { Answer, Received } from "./server.ts";

export interface ReaderOptions {
  readonly path: string;
  readonly script: Script;
  /** The address to which every request is forwarded. */
  readonly target: URL | null;
  readonly kept: KeptRequests | null;
  /** Set if the endpoint is registered, so that its secrets can be read again. */
  readonly client: Client | null;
}

const MAX_REMEMBERED = 10_000;
/** The audit records each time a secret is read, so do not read it at every request. */
const REREAD_MS = 1000;

export class Reader {
  onRequest: (reception: Reception) => void = () => {};
  readonly #options: ReaderOptions;
  readonly #io: Pick<Io, "now" | "monotonic" | "sleep">;
  readonly #begun = Promise.withResolvers<void>();
  #secrets: readonly string[] = [];
  #endpoint: string | null = null;
  #requests = 0;
  #reread = Number.NEGATIVE_INFINITY;
  /** Ids of requests that got a 2xx. */
  readonly #handled = new Set<string>();

  constructor(options: ReaderOptions, io: Pick<Io, "now" | "monotonic" | "sleep">) {
    this.#options = options;
    this.#io = io;
  }

  /** Holds requests back until the secrets are known, because an endpoint registered earlier may get some at once. */
  begin(secrets: readonly string[], endpoint: string | null): void {
    this.#secrets = secrets;
    this.#endpoint = endpoint;
    this.#begun.resolve();
  }

  async answer(received: Received): Promise<Answer | null> {
    const { now, monotonic, sleep } = this.#io;
    const { path, script, kept } = this.#options;
    const [at, start] = [now(), monotonic()];
    await this.#begun.promise;
    if (received.path.split("?", 1)[0] !== path) return { status: 404 };
    if (received.method !== "POST") return { status: 405 };
    kept?.keep(received);
    const judgement = await this.#judge(received);
    const index = this.#requests++;
    if (script.delayMs > 0) await sleep(script.delayMs);
    const { answer, fault } = await this.#reply(received, judgement, index);
    const event = eventOf(received);
    const status = answer?.status ?? null;
    const seenBefore = this.#handled.has(event.id);
    if (status !== null && status < 300) this.#remember(event.id);
    const bytes = received.body.length;
    this.onRequest({ at, event, judgement, bytes, status, durationMs: monotonic() - start, seenBefore, fault });
    return answer;
  }

  async #reply(received: Received, { verdict }: Judgement, index: number) {
    const { script, target } = this.#options;
    if (script.drop) return { answer: null, fault: null };
    if (verdict === "wrong" || verdict === "missing") return { answer: { status: 401 }, fault: null };
    if (target !== null && index >= script.failFirst) return forward(target, received);
    return { answer: { status: statusFor(script, index) }, fault: null };
  }

  /** Reads the secrets again before it calls a signature wrong, because a rotation may have replaced them. */
  async #judge(received: Received): Promise<Judgement> {
    const judgement = judge(received, this.#secrets);
    const { client } = this.#options;
    if (judgement.verdict !== "wrong" || client === null || this.#endpoint === null) return judgement;
    if (this.#io.monotonic() < this.#reread + REREAD_MS) return judgement;
    this.#reread = this.#io.monotonic();
    try {
      this.#secrets = await currentSecrets(client, this.#endpoint);
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
    }
    return judge(received, this.#secrets);
  }

  #remember(id: string): void {
    this.#handled.add(id);
    const [oldest] = this.#handled;
    if (this.#handled.size > MAX_REMEMBERED) this.#handled.delete(oldest!);
  }
}
