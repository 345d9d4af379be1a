/** Tells the operator, by events of our own that are delivered like any other, and never about themselves. */
import { randomBytes } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Deliveries, DeliveryWatcher } from "../delivery/deliveries.ts";
import { adviceOn } from "../domain/advice/advice.ts";
import {
  ALERT_PACE_MS,
  ALERT_TENANT,
  AlertFolder,
  isWorthTelling,
  type Moment,
  type Notice,
  type Why,
} from "../domain/alert.ts";
import type { DisabledReason, Endpoint } from "../domain/endpoints/endpoint.ts";
import type { UrlPolicy } from "../domain/network/url.ts";
import { WebhookdError } from "../domain/errors.ts";
import { NoticeFolder } from "../domain/notice-folder.ts";
import type { EndedAttempt, Recorded, SharedAlerts, Space, Store } from "../store/store.ts";
import type { Log } from "../log.ts";
import { chatAt, mailTo, Outlet, type AlertData } from "./people.ts";
import { chatUrl, keepAlertEndpoint, mailOf, type EndpointStore } from "./endpoint.ts";

/** Between two notices of a kind that a node hands to the one that folds those of all. */
const HAND_PACE_MS = 5000;
/** What waits for longer was handed to a node that tells nobody: the configurations of the nodes differ. */
const UNTOLD_MS = 30_000;
/** For so long a node tells in its place, then it looks again. */
const STAND_IN_MS = 60_000;

export interface AlertsParts {
  readonly store: Pick<Store, "events" | "endpoints" | "ownership" | "statistics"> & EndpointStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly deliveries: () => Pick<Deliveries, "hasRoom" | "accept" | "refresh">;
  /** Whether this process tells what all nodes have to tell. */
  readonly isFirst: () => boolean;
}

export class Alerts implements DeliveryWatcher {
  readonly #parts: AlertsParts;
  readonly #folder: AlertFolder;
  /** Of all nodes. */
  readonly #all = new NoticeFolder();
  /** Where they go as signed events; null for nowhere. */
  #endpoint: string | null = null;
  readonly #chat: Outlet;
  readonly #mail: Outlet;
  /** Whether they go anywhere. */
  #isOn = false;
  /** What the store has not taken yet as signed events. */
  readonly #unsent = new NoticeFolder();
  /** Monotonic milliseconds. */
  #lookAt = 0;
  #standsInUntil = 0;
  #running: Promise<void> | null = null;
  /** Has the store take the configuration that it had no room for. */
  #wanted: (() => Promise<void>) | null = null;

  constructor(parts: AlertsParts) {
    this.#parts = parts;
    this.#folder = new AlertFolder(parts.store.ownership.alerts === null ? ALERT_PACE_MS : HAND_PACE_MS);
    this.#chat = new Outlet(parts);
    this.#mail = new Outlet(parts);
  }

  /** From now on they go where the configuration says. Throws a ConfigError, and changes nothing then. */
  async configure(config: Config, urlPolicy: (tenant: string) => UrlPolicy): Promise<void> {
    const { store, clock, deliveries } = this.#parts;
    const before = this.#endpoint;
    const parts = { store, config, urlPolicy: urlPolicy(ALERT_TENANT), now: clock.now(), random: randomBytes };
    const [chat, mail] = [chatUrl(parts), mailOf(config)];
    try {
      this.#endpoint = await keepAlertEndpoint(parts);
      this.#wanted = null;
    } catch (error) {
      if (!(error instanceof WebhookdError) || error.code !== "storage_full") throw error;
      // The disk is full: a start without alerts is better than none.
      this.#wanted = () => this.configure(config, urlPolicy);
    }
    this.#chat.configure(chat && chatAt(chat), config.ui.label);
    this.#mail.configure(mail && mailTo(mail), config.ui.label);
    this.#isOn = this.#endpoint !== null || this.#chat.isOn || this.#mail.isOn;
    const endpoint = this.#endpoint ?? before;
    if (endpoint !== null) await deliveries().refresh(endpoint);
  }

  /** To be called before anything is sent: people have heard from the former process of what was failing then. */
  async takeUp(): Promise<void> {
    const { clock, store } = this.#parts;
    // Where nodes share the store, it has what people were told.
    if (!this.#isOn || store.ownership.alerts !== null) return;
    const failing = await store.statistics.failing(null, clock.now(), Number.MAX_SAFE_INTEGER);
    const told = failing.filter(
      (one) => one.enabled && isWorthTelling(one.consecutiveFailures, one.lastFailureAt - one.failingSince),
    );
    this.#folder.moved(() => true, told, this.#now());
  }

  attempted({ claim, outcome, verdict, url }: EndedAttempt, { result }: Recorded): void {
    const { endpoint, delivery, trigger } = claim;
    if (!this.#isOn || endpoint === this.#endpoint || trigger === "test") return;
    if (outcome.outcome === "succeeded") return this.#folder.attemptSucceeded(endpoint);
    if (outcome.outcome === "interrupted") return;
    const now = this.#now();
    const { error, statusCode: status, detail, remoteAddress, phases } = outcome;
    const why = { error, status, sample: { url, detail, remoteAddress, phases } };
    this.#folder.attemptFailed(endpoint, why, now);
    const given = verdict.status === "failed" && result === "applied";
    if (given) this.#folder.deliveryFailed(endpoint, why, delivery, now);
  }

  disabled(endpoint: string, reason: DisabledReason): void {
    if (this.#isOn && endpoint !== this.#endpoint) this.#folder.endpointDisabled(endpoint, reason);
  }

  damaged({ id, damaged }: Endpoint): void {
    if (this.#isOn && damaged !== null) this.#folder.endpointDamaged(id, damaged);
  }

  space(space: Space): void {
    if (this.#isOn) this.#folder.space(space);
  }

  backupFailed(detail: string): void {
    if (this.#isOn) this.#folder.backupFailed(detail);
  }

  storageFault(detail: string): void {
    if (this.#isOn) this.#folder.storageFault(detail);
  }

  /** To be called each second: publishes what is due. What the store does not take now, the next call tries again. */
  run(): Promise<void> {
    return (this.#running ??= this.#publish().finally(() => {
      this.#running = null;
    }));
  }

  /** What is left, due or not. */
  async end(): Promise<void> {
    // Whoever began that run hears how it fails.
    await this.#running?.catch(() => {});
    await this.#publish(true);
  }

  async #publish(isLast = false): Promise<void> {
    await this.#wanted?.();
    if (!this.#isOn) return;
    for (const notice of await this.#due(isLast)) {
      if (this.#endpoint !== null) this.#unsent.add(notice);
      if (!this.#chat.isOn && !this.#mail.isOn) continue;
      const data = await this.#dataOf(notice);
      for (const outlet of [this.#chat, this.#mail]) outlet.say(notice.type, data);
    }
    // Not waited for: a chat that hangs must not keep the signed ones.
    for (const outlet of [this.#chat, this.#mail]) void outlet.post();
    await this.#sign();
  }

  /** What the store does not take now is folded with what happens until it does. */
  async #sign(): Promise<void> {
    const { store, clock, deliveries } = this.#parts;
    const waiting = this.#unsent.takeAll();
    try {
      for (let notice = waiting[0]; notice !== undefined; notice = waiting[0]) {
        const data = Buffer.from(JSON.stringify(await this.#dataOf(notice)));
        const draft = { tenant: ALERT_TENANT, type: notice.type, createdAt: clock.now(), data };
        const [publication] = await store.events.publish([draft], clock.now(), deliveries().hasRoom);
        deliveries().accept(publication!);
        waiting.shift();
      }
    } catch (error) {
      if (!(error instanceof WebhookdError)) throw error;
    } finally {
      for (const notice of waiting) this.#unsent.add(notice);
    }
  }

  /** Where nodes share the store, one of them tells what all have to tell. What it does not get now, it gets later. */
  async #due(isLast: boolean): Promise<Notice[]> {
    const { alerts, owns } = this.#parts.store.ownership;
    const now = this.#now();
    if (alerts === null) return this.#folder.take(now, isLast);
    let given: readonly Notice[] = [];
    try {
      const told = await alerts.told();
      if (told !== null) this.#folder.moved(owns!, told, now);
      for (const notice of this.#folder.take(now, isLast)) this.#all.add(notice);
      if (await this.#tells(alerts, now)) return await newOf((given = this.#all.take(now, isLast)), alerts);
      given = this.#all.takeAll();
      if (given.length > 0) await alerts.hand(given.map((notice) => JSON.stringify(notice)));
    } catch (error) {
      if (!(error instanceof WebhookdError)) throw error;
      for (const notice of given) this.#all.add(notice);
    }
    return [];
  }

  /** Whether this process tells what all have to tell, which it then has taken. */
  async #tells(alerts: SharedAlerts, { wall, monotonic }: Moment): Promise<boolean> {
    const isFirst = this.#parts.isFirst();
    if (isFirst || monotonic >= this.#lookAt) {
      this.#lookAt = monotonic + UNTOLD_MS;
      const taken = await alerts.take(isFirst ? wall + UNTOLD_MS : wall - UNTOLD_MS);
      for (const text of taken) this.#all.add(JSON.parse(text) as Notice);
      if (taken.length > 0) this.#standsInUntil = monotonic + STAND_IN_MS;
    }
    return isFirst || monotonic < this.#standsInUntil;
  }

  async #dataOf(notice: Notice): Promise<AlertData> {
    switch (notice.type) {
      case "webhookd.endpoint_failing":
        return this.#listed(notice, "endpoints", notice.endpoints, (one) => ({
          ...this.#causeOf(one, one.failingSince),
          consecutive_failures: one.consecutiveFailures,
          failing_since: instant(one.failingSince),
        }));
      case "webhookd.endpoint_recovered":
        return this.#listed(notice, "endpoints", notice.endpoints, (one) => ({
          failing_since: instant(one.failingSince),
        }));
      case "webhookd.endpoint_disabled":
        return this.#listed(notice, "endpoints", notice.endpoints, ({ reason }) => ({ reason }));
      case "webhookd.endpoint_damaged":
        return this.#listed(notice, "endpoints", notice.endpoints, ({ parts, reason }) => ({ parts, reason }));
      case "webhookd.deliveries_failed":
        return this.#listed(notice, "groups", notice.groups, (one) => ({
          ...this.#causeOf({ ...one, why: { ...one.why, isOver: true } }, one.firstAt),
          count: one.count,
          first_delivery: one.firstDelivery,
          first_at: instant(one.firstAt),
        }));
      case "webhookd.storage_low":
        return { free_bytes: notice.freeBytes, floor_bytes: notice.floorBytes };
      case "webhookd.backup_failed":
        return { total: notice.total, detail: notice.detail };
      case "webhookd.storage_fault":
        return { detail: notice.detail };
    }
  }

  async #listed<T extends { readonly endpoint: string }>(
    { total }: { readonly total: number },
    name: string,
    all: readonly T[],
    rest: (one: T) => object,
  ): Promise<AlertData> {
    const listed: object[] = [];
    for (const one of all) listed.push({ ...(await this.#whose(one.endpoint)), ...rest(one) });
    return { total, [name]: listed };
  }

  /** And what to do about it, for the one whom it wakes. */
  #causeOf({ endpoint, why }: { readonly endpoint: string; readonly why: Why }, since: number): object {
    const lastsMs = this.#parts.clock.now() - since;
    const { error, status } = why;
    return { error, status_code: status, advice: adviceOn({ ...why, lastsMs }, { endpoint, attempt: null }) };
  }

  async #whose(endpoint: string): Promise<object> {
    const { store } = this.#parts;
    try {
      const found = await store.endpoints.get(null, endpoint);
      return { endpoint, tenant: found?.tenant ?? (await store.endpoints.tenantOf(endpoint)), url: found?.url ?? null };
    } catch (error) {
      if (!(error instanceof WebhookdError)) throw error;
      // A store that cannot be read is what somebody has to hear of most.
      return { endpoint, tenant: null, url: null };
    }
  }

  #now(): Moment {
    return { wall: this.#parts.clock.now(), monotonic: this.#parts.clock.monotonic() };
  }
}

function instant(at: number): string {
  return new Date(at).toISOString();
}

/** Without endpoints that people were told of already: one that moved while it was failing is reported by each of its nodes. */
async function newOf(notices: readonly Notice[], alerts: SharedAlerts): Promise<Notice[]> {
  for (const notice of notices) {
    const hasEnded = notice.type === "webhookd.endpoint_recovered" || notice.type === "webhookd.endpoint_disabled";
    if (hasEnded) await alerts.ended(notice.endpoints.map(({ endpoint }) => endpoint));
  }
  const failing = notices.find(({ type }) => type === "webhookd.endpoint_failing");
  if (failing?.type !== "webhookd.endpoint_failing") return [...notices];
  // Last of all: what fails is tried again, and these would count as told.
  const untold = await alerts.failing(failing.endpoints);
  const byName = new Map(failing.endpoints.map((one) => [one.endpoint, one]));
  const endpoints = [...byName.values()].filter(({ endpoint }) => untold.has(endpoint));
  const total = failing.total - (failing.endpoints.length - endpoints.length);
  return notices.flatMap((notice) =>
    notice !== failing ? [notice] : total === 0 ? [] : [{ ...failing, endpoints, total }],
  );
}
