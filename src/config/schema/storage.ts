/** Settings for where data is kept, how much of it is accepted, and backups: [data], [events], [limits], [backup]. */
import type { SettingShape } from "../kinds.ts";

const DAY = 86_400_000;
const KIB = 1024;

export const STORAGE = [
  {
    section: "data",
    key: "dir",
    kind: "path",
    default: "",
    sentence:
      "Directory for all data. Empty: ./data in a checkout, else $STATE_DIRECTORY, else /var/lib/webhookd for root and $XDG_DATA_HOME/webhookd for other users.",
  },
  {
    section: "data",
    key: "store",
    kind: "store",
    default: "",
    sentence:
      "Where events are kept. Empty: in a file of the data directory. postgres://user:password@host1,host2/database: in PostgreSQL 14 or newer; if you name several hosts, the one that accepts writes is used.",
    holdsSecret: true,
  },
  {
    section: "data",
    key: "standby",
    kind: "bool",
    default: false,
    sentence:
      "With a store in PostgreSQL: if another webhookd is using it, this one waits, without listening, and takes over once the other ends or cannot be reached. If false, it refuses to start. All of them need the same secret.key.",
  },
  {
    section: "data",
    key: "nodes",
    kind: "bool",
    default: false,
    sentence:
      "With a store in PostgreSQL: this process is one of several nodes that send at the same time, each to endpoints of its own. All of them need this, the same secret.key and the same settings. See docs/cluster.md.",
  },
  {
    section: "data",
    key: "secret_key_file",
    kind: "path",
    default: "",
    sentence:
      "File with the key that seals signing secrets. Empty: $CREDENTIALS_DIRECTORY/secret.key if there is one, else secret.key in the data directory.",
  },
  {
    section: "data",
    key: "disk_floor",
    kind: "size",
    default: "512MiB",
    sentence: "With less free space than this, new events are refused (507) while deliveries continue.",
  },
  {
    section: "events",
    key: "validate",
    kind: "bool",
    default: false,
    sentence: "Refuses an event whose data does not match the schema of its type; see GET /v1/webhooks/event-types.",
    live: true,
  },
  {
    section: "limits",
    key: "in_flight_bytes",
    kind: "size",
    default: "64MiB",
    min: 64 * KIB,
    sentence: "Total size of the request bodies in memory at once; beyond that, callers get 503.",
  },
  {
    section: "limits",
    key: "commit_queue",
    kind: "int",
    default: 2000,
    min: 1,
    max: 100_000,
    sentence: "Publish requests that may wait for their commit; beyond that, callers get 503.",
  },
  {
    section: "limits",
    key: "max_pending_per_tenant",
    kind: "int",
    default: 0,
    min: 0,
    max: 1_000_000_000,
    sentence:
      "Deliveries that one tenant may have pending or held; publish requests that would exceed it get 503. 0: no limit.",
  },
  {
    section: "limits",
    key: "portal_links",
    kind: "int",
    default: 100_000,
    min: 1,
    max: 10_000_000,
    sentence:
      "Portal links of one tenant that may work at once, and of one key that makes them; beyond that, callers get 429.",
  },
  {
    section: "limits",
    key: "portal_links_per_hour",
    kind: "int",
    default: 3600,
    min: 1,
    max: 10_000_000,
    sentence:
      "Portal links that one key may make in an hour, with one hour's worth saved up; beyond that, it gets 429 until the next may be made.",
  },
  {
    section: "backup",
    key: "every",
    kind: "duration",
    default: "0s",
    max: 365 * DAY,
    sentence: "How often to make a backup, to the minute. 0s: only on demand.",
    live: true,
  },
  {
    section: "backup",
    key: "dir",
    kind: "path",
    default: "",
    sentence:
      "Directory for backups. It must exist, and should be on another disk. Empty: backups in the data directory, which is created.",
    live: true,
  },
  {
    section: "backup",
    key: "keep",
    kind: "int",
    default: 7,
    min: 0,
    max: 100_000,
    sentence: "How many backups to keep; older ones are removed once a new one is complete and checked. 0: keep all.",
    live: true,
  },
  {
    section: "backup",
    key: "seal_with_file",
    kind: "path",
    default: "",
    sentence:
      "File with a passphrase (12 characters or more) that seals secret.key into each backup; keep a copy of it elsewhere. Empty: backups do not include secret.key, so keep a copy of that.",
    live: true,
  },
] as const satisfies readonly SettingShape[];
