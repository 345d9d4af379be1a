/**
 * Makes spans of publishes and attempts, and exports those that are sampled. It is loaded only if `[telemetry] otlp` is
 * set, and learns of attempts when they are on the disk, whichever thread made them.
 */
import { resourceFromAttributes } from "@opentelemetry/resources";
import { ATTR_SERVICE_NAME, ATTR_SERVICE_VERSION } from "@opentelemetry/semantic-conventions";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { DeliveryWatcher } from "../delivery/deliveries.ts";
import type { EventDraft } from "../domain/events/event.ts";
import { isSampled } from "../domain/events/tracing.ts";
import type { Log } from "../log.ts";
import type { EndedAttempt, Publication } from "../store/store.ts";
import { Exporter, type ExportStanding } from "./exporter.ts";
import { attemptSpan, publishSpan, waitSpan, type Origin } from "./spans.ts";

export interface TracesParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** Returns null if the endpoint is unknown by now. */
  readonly tenantOf: (endpoint: string) => string | null;
}

export class Traces implements DeliveryWatcher {
  readonly resource: Readonly<Record<string, string>>;
  readonly #parts: TracesParts;
  readonly #exporter: Exporter;
  readonly #origin: Origin;
  readonly #ratio: number;
  readonly #alwaysFailed: boolean;

  constructor(settings: Config["telemetry"], parts: TracesParts) {
    const { version } = parts;
    this.#parts = parts;
    this.resource = {
      ...settings.resourceAttributes,
      [ATTR_SERVICE_NAME]: settings.serviceName,
      [ATTR_SERVICE_VERSION]: version,
    };
    this.#origin = {
      resource: resourceFromAttributes(this.resource),
      instrumentationScope: { name: "webhookd", version },
    };
    this.#exporter = new Exporter({ ...parts, ...settings, url: settings.otlp });
    this.#ratio = settings.sampleRatio;
    this.#alwaysFailed = settings.alwaysFailed;
  }

  get standing(): ExportStanding {
    return this.#exporter;
  }

  /** Call it when the events are on the disk. `since` is when their request came. */
  published(drafts: readonly EventDraft[], publications: readonly Publication[], since: number): void {
    for (const [at, publication] of publications.entries()) {
      const draft = drafts[at]!;
      const { id: event, duplicate } = publication;
      if (duplicate || !isSampled({ event, trace: draft.trace }, this.#ratio)) continue;
      this.#exporter.add(publishSpan(this.#origin, publication, draft, [since, this.#parts.clock.now()]));
    }
  }

  attempted(attempt: EndedAttempt): void {
    const { claim, outcome } = attempt;
    const isWhole = isSampled(claim, this.#ratio);
    if (!isWhole && (!this.#alwaysFailed || outcome.outcome === "succeeded")) return;
    const wait = isWhole ? waitSpan(this.#origin, attempt) : null;
    if (wait !== null) this.#exporter.add(wait);
    const tenant = this.#parts.tenantOf(claim.endpoint);
    this.#exporter.add(attemptSpan(this.#origin, attempt, { tenant, isWhole }));
  }

  /** Sends what is left, within a bound. */
  end(): Promise<void> {
    return this.#exporter.end();
  }
}
