/** Alerts the operator by signed events, chat and mail. No alert is ever about the endpoint that gets the alerts. */
import { randomBytes } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Deliveries, DeliveryWatcher } from "../delivery/deliveries.ts";
import { adviceOn } from "../domain/advice/advice.ts";
import { ALERT_PACE_MS, ALERT_TENANT, AlertFolder, type Moment, type Notice, type Why } from "../domain/alert.ts";
import type { DisabledReason, Endpoint } from "../domain/endpoints/endpoint.ts";
import { publishing } from "../domain/events/routing.ts";
import { isFailing, isTelling } from "../domain/endpoints/streak.ts";
import type { UrlPolicy } from "../domain/network/url.ts";
import { WebhookdError } from "../domain/errors.ts";
import { NoticeFolder } from "../domain/notice-folder.ts";
import type { EndedAttempt, Recorded, SharedAlerts, Space, Store } from "../store/store.ts";
import type { Traces } from "../telemetry/traces.ts";
import type { Log } from "../log.ts";
import { chatAt, mailTo, Outlet, type AlertData } from "./people.ts";
import { chatUrl, keepAlertEndpoint, mailOf, type EndpointStore } from "./endpoint.ts";
import { unawaited } from "../domain/unawaited.ts";

/**
 * The time between two notices of the same kind that a node hands to the node that combines the notices of all nodes.
 */
const HAND_PACE_MS = 5000;
/**
 * A notice waits this long only if it was handed to a node that sends no alerts, because the nodes' configurations
 * differ.
 */
const UNTOLD_MS = 30_000;
/** A node sends the alerts in place of such a node for this long, and then checks again. */
const STAND_IN_MS = 60_000;
const HELD_KEYS_EVERY_MS = 10_000;
/** At most this many endpoints are reported, those that have held keys for longest. */
const MOST_HOLDING = 1000;

export interface AlertsParts {
  readonly store: Pick<Store, "events" | "endpoints" | "ownership" | "statistics"> & EndpointStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly deliveries: () => Pick<Deliveries, "capacity" | "accept" | "refresh">;
  /** Null or absent if no spans are recorded. */
  readonly traces?: Pick<Traces, "published"> | null;
  /** True if this process sends the alerts of all nodes. */
  readonly isFirst: () => boolean;
}

export class Alerts implements DeliveryWatcher {
  readonly #parts: AlertsParts;
  readonly #folder: AlertFolder;
  /** Notices of all nodes, while this process sends their alerts. */
  readonly #all = new NoticeFolder();
  /** The endpoint that gets alerts as signed events; null if none does. */
  #endpoint: string | null = null;
  readonly #chat: Outlet;
  readonly #mail: Outlet;
  /** True if an endpoint, a chat or a mailbox gets alerts. */
  #isOn = false;
  /** Notices that the store has not yet accepted as signed events. */
  readonly #unsent = new NoticeFolder();
  /** Monotonic milliseconds. */
  #lookAt = 0;
  #standsInUntil = 0;
  #lookForKeysAt = Number.NEGATIVE_INFINITY;
  #keyHeldAfterMs = Number.POSITIVE_INFINITY;
  #running: Promise<void> | null = null;
  /** Applies the configuration after all, if a full disk prevented it. */
  #wanted: (() => Promise<void>) | null = null;

  constructor(parts: AlertsParts) {
    this.#parts = parts;
    this.#folder = new AlertFolder(parts.store.ownership.alerts === null ? ALERT_PACE_MS : HAND_PACE_MS);
    this.#chat = new Outlet(parts);
    this.#mail = new Outlet(parts);
  }

  /** Sends alerts to the places in `config` from now on. If this throws a ConfigError, nothing has changed. */
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
    this.#keyHeldAfterMs = config.alerts.keyHeldAfter;
    this.#lookForKeysAt = Number.NEGATIVE_INFINITY;
    const endpoint = this.#endpoint ?? before;
    if (endpoint !== null) await deliveries().refresh(endpoint);
  }

  /**
   * Must be called before anything is sent, so that no alert repeats what the previous process already reported as
   * failing.
   */
  async takeUp(): Promise<void> {
    const { clock, store } = this.#parts;
    // If several nodes share the store, it records what was reported.
    if (!this.#isOn || store.ownership.alerts !== null) return;
    const failing = await store.statistics.failing(null, clock.now(), Number.MAX_SAFE_INTEGER);
    const reported = failing.filter(
      (one) => one.enabled && isFailing(one.consecutiveFailures, one.failingSince, one.lastFailureAt),
    );
    this.#folder.moved(() => true, reported, this.#now());
  }

  attempted({ claim, outcome, verdict, url }: EndedAttempt, { result }: Recorded): void {
    const { endpoint, delivery } = claim;
    if (!this.#isOn || endpoint === this.#endpoint || !isTelling(claim, outcome)) return;
    if (outcome.outcome === "succeeded") return this.#folder.attemptSucceeded(endpoint);
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

  outboxFault(outbox: string, detail: string): void {
    if (this.#isOn) this.#folder.outboxFault(outbox, detail);
  }

  /**
   * Must be called each second. Publishes the notices that are due. The next call retries those that the store refuses
   * now.
   */
  run(): Promise<void> {
    return (this.#running ??= this.#publish().finally(() => {
      this.#running = null;
    }));
  }

  /** Publishes all remaining notices, whether due or not. */
  async end(): Promise<void> {
    // The caller of that run gets its error.
    await this.#running?.catch(() => {});
    await this.#publish(true);
  }

  async #publish(isLast = false): Promise<void> {
    await this.#wanted?.();
    if (!this.#isOn) return;
    if (this.#parts.isFirst()) await this.#lookForHeldKeys();
    // Another node reports them now. If this one is the first again later, it reports anew what is held then.
    else this.#folder.keysHeld([]);
    for (const notice of await this.#due(isLast)) {
      if (this.#endpoint !== null) this.#unsent.add(notice);
      if (!this.#chat.isOn && !this.#mail.isOn) continue;
      const data = await this.#dataOf(notice);
      for (const outlet of [this.#chat, this.#mail]) outlet.say(notice.type, data);
    }
    // This is not awaited, because a chat that hangs must not delay the signed alerts.
    for (const outlet of [this.#chat, this.#mail]) unawaited(outlet.post());
    await this.#sign();
  }

  async #lookForHeldKeys(): Promise<void> {
    const { clock, store } = this.#parts;
    if (clock.monotonic() < this.#lookForKeysAt) return;
    this.#lookForKeysAt = clock.monotonic() + HELD_KEYS_EVERY_MS;
    try {
      const held = await store.statistics.heldKeys(MOST_HOLDING);
      const before = clock.now() - this.#keyHeldAfterMs;
      this.#folder.keysHeld(held.filter(({ since }) => since <= before));
    } catch (error) {
      if (!(error instanceof WebhookdError)) throw error;
    }
  }

  /**
   * Publishes notices as signed events. While the store refuses a notice, later ones of its kind are merged into it.
   */
  async #sign(): Promise<void> {
    const { store, clock, deliveries, traces } = this.#parts;
    const waiting = this.#unsent.takeAll();
    try {
      for (let notice = waiting[0]; notice !== undefined; notice = waiting[0]) {
        const data = Buffer.from(JSON.stringify(await this.#dataOf(notice)));
        const now = clock.now();
        const draft = { tenant: ALERT_TENANT, type: notice.type, createdAt: now, data };
        const [publication] = await publishing(() => store.events.publish([draft], now, deliveries().capacity));
        deliveries().accept(publication!);
        traces?.published([draft], [publication!], now);
        waiting.shift();
      }
    } catch (error) {
      if (!(error instanceof WebhookdError)) throw error;
    } finally {
      for (const notice of waiting) this.#unsent.add(notice);
    }
  }

  /**
   * Returns the notices to send. If several nodes share the store, one of them sends the alerts of all. The others hand
   * their notices to it, and retry later if the store refuses them.
   */
  async #due(isLast: boolean): Promise<Notice[]> {
    const { alerts, owns } = this.#parts.store.ownership;
    const now = this.#now();
    if (alerts === null) return this.#folder.take(now, isLast);
    let given: readonly Notice[] = [];
    try {
      const reported = await alerts.reported();
      if (reported !== null) this.#folder.moved(owns!, reported, now);
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

  /**
   * True if this process sends the alerts of all nodes. It has then taken over the notices that other nodes handed to
   * it.
   */
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
      case "webhookd.keys_held":
        return this.#listed(notice, "endpoints", notice.endpoints, ({ count, since, orderingKey, event }) => ({
          held_keys: { count, since: instant(since), ordering_key: orderingKey, event },
        }));
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
      case "webhookd.outbox_fault":
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

  /** Adds advice to the cause, for the person whom the alert wakes up. */
  #causeOf({ endpoint, why }: { readonly endpoint: string; readonly why: Why }, since: number): object {
    const lastsMs = this.#parts.clock.now() - since;
    const { error, status } = why;
    // An alert wakes up an operator, so it leaves out what the endpoint's owner reads.
    const { owner: _, ...advice } = adviceOn({ ...why, lastsMs }, { endpoint, attempt: null });
    return { error, status_code: status, advice };
  }

  async #whose(endpoint: string): Promise<object> {
    const { store } = this.#parts;
    try {
      const found = await store.endpoints.get(null, endpoint);
      return { endpoint, tenant: found?.tenant ?? (await store.endpoints.tenantOf(endpoint)), url: found?.url ?? null };
    } catch (error) {
      if (!(error instanceof WebhookdError)) throw error;
      // An alert about a store that cannot be read matters most, so it is sent even without these fields.
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

/**
 * Leaves out endpoints that were already reported. If an endpoint moves between nodes while it is failing, each of its
 * nodes reports it.
 */
async function newOf(notices: readonly Notice[], alerts: SharedAlerts): Promise<Notice[]> {
  for (const notice of notices) {
    const hasEnded = notice.type === "webhookd.endpoint_recovered" || notice.type === "webhookd.endpoint_disabled";
    if (hasEnded) await alerts.ended(notice.endpoints.map(({ endpoint }) => endpoint));
  }
  const failing = notices.find(({ type }) => type === "webhookd.endpoint_failing");
  if (failing?.type !== "webhookd.endpoint_failing") return [...notices];
  // This comes last, because a notice that fails is sent again, and its endpoints would then count as reported.
  const unreported = await alerts.failing(failing.endpoints);
  const byName = new Map(failing.endpoints.map((one) => [one.endpoint, one]));
  const endpoints = [...byName.values()].filter(({ endpoint }) => unreported.has(endpoint));
  const total = failing.total - (failing.endpoints.length - endpoints.length);
  return notices.flatMap((notice) =>
    notice !== failing ? [notice] : total === 0 ? [] : [{ ...failing, endpoints, total }],
  );
}
