/** The roles of the store, by the verbs that they are made of. */
import type { Condition, Space, Store } from "../store.ts";
import type { Foundation } from "./foundation.ts";
import type { Verbs } from "./verbs.ts";

interface Parts {
  readonly base: Foundation;
  readonly verbs: Verbs;
  readonly careful: boolean;
  readonly takeUp: () => Promise<boolean>;
  readonly checkSpace: () => Promise<Space>;
  readonly condition: () => Promise<Condition>;
}

const EVERYTHING = { endpoints: "everything", holdsForMs: Number.POSITIVE_INFINITY } as const;

export function rolesOf(parts: Parts): Omit<Store, "close"> {
  const { base, verbs } = parts;
  const { audit, careful, clock, deliveries, failures, idempotency, jobs, keys, manual, operations } = verbs;
  const { publish, reads, registry, retention, rotation, statistics } = verbs;
  return {
    events: {
      publish: (drafts, now, hasRoom, once) => publish.publish(drafts, now, hasRoom, once),
      replay: (...given) => manual.replay(...given),
      cancel: (...given) => manual.cancelEvent(...given),
      erase: (...given) => manual.eraseEvent(...given),
    },
    deliveries: {
      due: (endpoint, after, until, limit) => deliveries.due(endpoint, after, until, limit),
      earliestDue: (...given) => deliveries.earliestDue(...given),
      waiting: (...given) => deliveries.waiting(...given),
      fresh: (...given) => deliveries.fresh(...given),
      record: (attempts) => deliveries.record(attempts),
      park: (...given) => deliveries.park(...given),
      requestAttempt: (...given) => manual.requestAttempt(...given),
      requestedAttempt: (delivery) => manual.requestedAttempt(delivery),
      requestedAttempts: (...given) => manual.requestedAttempts(...given),
    },
    endpoints: {
      add: registry.add,
      get: registry.get,
      idOf: registry.ofUid,
      tenantOf: registry.tenantOf,
      list: (query) => reads.listEndpoints(query),
      update: registry.update,
      put: registry.put,
      disable: registry.disable,
      health: registry.health,
      failingSince: registry.failingSince,
      delete: registry.delete,
      typesInUse: registry.typesInUse,
      target: registry.target,
    },
    secrets: {
      get: (...given) => rotation.signingSecrets(...given),
      rotate: (...given) => rotation.rotateSecret(...given),
      complete: (...given) => rotation.completeRotation(...given),
      abandon: (...given) => rotation.abandonRotation(...given),
      switchDue: (now) => rotation.switchSecrets(now),
    },
    keys: {
      add: (...given) => keys.addKey(...given),
      get: (id) => keys.getKey(id),
      list: (query) => reads.listKeys(query),
      hasAdmin: (now) => keys.hasAdminKey(now),
      revoke: (...given) => keys.revokeKey(...given),
      prune: (...given) => keys.pruneKeys(...given),
      touch: (id, now) => keys.touchKey(id, now),
    },
    jobs: {
      plan: (set) => jobs.plan(set),
      add: (...given) => jobs.add(...given),
      get: (...given) => jobs.get(...given),
      list: (query) => jobs.list(query),
      steer: jobs.steer,
      open: () => jobs.open(),
      endpoints: (...given) => jobs.endpoints(...given),
      step: (...given) => jobs.step(...given),
      close: (...given) => jobs.close(...given),
      prune: (...given) => jobs.prune(...given),
    },
    reads: {
      getEvent: (...given) => reads.getEvent(...given),
      listEvents: (query) => reads.listEvents(query),
      getDelivery: (...given) => reads.getDelivery(...given),
      listDeliveries: (query) => reads.listDeliveries(query),
      getAttempt: (...given) => reads.getAttempt(...given),
      listAttempts: (query) => reads.listAttempts(query),
      listEndpointAttempts: (query) => reads.listEndpointAttempts(query),
      listTenants: operations.listTenants,
      unknownName: (...given) => reads.unknownName(...given),
    },
    statistics: {
      period: (query) => statistics.stats(query),
      sinceStart: async () => ({ ...statistics.counted, commitTimes: base.commit.times }),
      save: () => statistics.saveCounters(),
      prune: (before) => statistics.pruneCounters(before),
      census: async (from) => base.read(() => verbs.census.step(from)),
      failures: (query) => failures.report(query),
      failing: registry.failing,
    },
    audit: {
      add: (...given) => audit.addAudit(...given),
      list: (query) => reads.listAudit(query),
      prune: (before) => audit.pruneAudit(before),
    },
    idempotency: {
      recall: (...given) => idempotency.recall(...given),
      remember: (...given) => idempotency.remember(...given),
      prune: (now) => idempotency.pruneIdempotency(now),
    },
    recovery: {
      takeUp: parts.takeUp,
      careful: parts.careful,
      markStarted: (sends) => careful.markStarted(sends),
      suspects: () => careful.suspects(),
      outlived: () => careful.outlived(),
      lastInstant: base.lastInstant,
      shiftDue: (...given) => clock.shiftDue(...given),
      clockUnsettled: () => clock.clockUnsettled(),
      clockSettled: (now) => clock.clockSettled(now),
    },
    upkeep: {
      pruneEvents: (...given) => retention.pruneEvents(...given),
      expireHeld: (...given) => retention.expireHeld(...given),
      forgetResponses: (before) => retention.forgetResponses(before),
      saveHealth: registry.saveHealth,
      checkSpace: parts.checkSpace,
      condition: parts.condition,
    },
    operations,
    ownership: {
      renew: async () => EVERYTHING,
      arrived: async () => [],
      release: async () => {},
    },
  };
}
