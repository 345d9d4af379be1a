/**
 * Hands spans to a collector (OTLP over HTTP), in batches. Spans that do not fit in the queue, or that the collector
 * does not take in time, are dropped and counted: nothing waits for a collector.
 */
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace";
import { Alarm } from "../alarm.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";

const MAX_WAITING = 4096;
const BATCH = 512;
const EVERY_MS = 1000;
/** The time for one batch, with its retries. */
const TIMEOUT_MS = 5000;
/** A shutdown waits this long for what is left. */
const LAST_MS = 3000;

export interface ExporterParts {
  readonly url: string;
  readonly protocol: "http/protobuf" | "http/json";
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The number of spans since the start, and the reason why the last batch was not taken. */
export interface ExportStanding {
  readonly exported: number;
  readonly dropped: number;
  /** Null once a batch was taken. */
  readonly failure: { readonly since: number; readonly detail: string } | null;
}

export class Exporter {
  exported = 0;
  dropped = 0;
  failure: ExportStanding["failure"] = null;
  readonly #parts: ExporterParts;
  readonly #alarm: Alarm;
  readonly #processor: BatchSpanProcessor;
  /** The collector's URL without its query, for the log. */
  readonly #place: string;
  #waiting = 0;

  constructor(parts: ExporterParts) {
    const { url, protocol, headers, clock, log } = parts;
    this.#parts = parts;
    this.#alarm = new Alarm(clock, log);
    const { origin, pathname } = new URL(url);
    this.#place = `${origin}${pathname}`;
    const Official = protocol === "http/json" ? JsonExporter : ProtobufExporter;
    const exporter = new Official({
      url: `${url}/v1/traces`,
      headers: { ...headers },
      timeoutMillis: TIMEOUT_MS,
      // At the end, all batches are sent at once.
      concurrencyLimit: MAX_WAITING / BATCH + 2,
    });
    this.#processor = new BatchSpanProcessor({
      exporter: this.#counted(exporter),
      maxQueueSize: MAX_WAITING,
      maxExportBatchSize: BATCH,
      scheduledDelayMillis: EVERY_MS,
      exportTimeoutMillis: 2 * TIMEOUT_MS,
    });
  }

  add(span: ReadableSpan): void {
    if (this.#waiting >= MAX_WAITING) {
      this.dropped++;
      this.#alarm.raise(`spans are dropped: more than ${MAX_WAITING} wait for the collector at ${this.#place}`);
      return;
    }
    this.#waiting++;
    this.#processor.onEnd(span);
  }

  /** Sends what is left, within a bound. Never rejects. */
  async end(): Promise<void> {
    const { clock } = this.#parts;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(LAST_MS, resolve);
    await Promise.race([this.#processor.shutdown().catch(() => {}), late]);
    cancel();
    this.dropped += this.#waiting;
    this.#waiting = 0;
  }

  #counted(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, onResult) =>
        exporter.export(spans, (result) => {
          this.#waiting = Math.max(0, this.#waiting - spans.length);
          if (result.error === undefined) this.#taken(spans.length);
          else this.#refused(spans.length, result.error);
          onResult(result);
        }),
      forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
      shutdown: () => exporter.shutdown(),
    };
  }

  #taken(count: number): void {
    this.exported += count;
    this.failure = null;
    this.#alarm.clear("the collector takes spans again");
  }

  #refused(count: number, error: Error | undefined): void {
    const { clock } = this.#parts;
    this.dropped += count;
    const detail = reasonOf(error);
    this.failure = { since: this.failure?.since ?? clock.now(), detail };
    this.#alarm.raise(
      `spans are dropped: the collector at ${this.#place} does not take them (${detail}). Events are delivered all the same. Check [telemetry] otlp, and that the collector runs`,
    );
  }
}

/** Names the status or the system's code, and nothing that the collector wrote. */
function reasonOf(error: Error | undefined): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  if (typeof code === "number") return `it answered ${code}`;
  return typeof code === "string" ? code : "it did not answer as it should";
}
