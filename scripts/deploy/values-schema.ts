/** The schema of the chart's values. The settings in it come from webhookd's own table, so that there is one source. */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { holdsSecret, nameOf, SETTINGS, type Setting, type SettingName } from "../../src/config/schema.ts";
import { NODES } from "../../src/store/postgres/engine/engine.ts";

type Schema = Readonly<Record<string, unknown>>;

/** The chart sets these itself, because its other objects depend on them. */
export const SET_BY_CHART: readonly SettingName[] = [
  "server.listen",
  "server.behind_proxy",
  "server.allowed_hosts",
  "server.socket",
  "data.dir",
  "data.nodes",
  "data.standby",
  "data.secret_key_file",
];

const OF_SECRET: Schema = {
  type: "object",
  properties: { name: { type: "string" }, key: { type: "string" } },
  additionalProperties: false,
};
const REFERENCE: Schema = { ...OF_SECRET, required: ["name", "key"] };
/** Empty by default. */
const MAYBE_REFERENCE: Schema = { ...OF_SECRET, dependencies: { name: ["key"], key: ["name"] } };

/** A rollout starts one pod more before it stops another one. */
const SURGE = 1;

/** Values of Kubernetes, which it checks itself. */
const ITS_OWN: readonly string[] = [
  "annotations",
  "from",
  "moreEgress",
  "nodeSelector",
  "podAnnotations",
  "pullSecrets",
  "resources",
  "tolerations",
];

export function valuesSchema(): Schema {
  const values = load(readFileSync(new URL("chart/values.yaml", import.meta.url), "utf8")) as Schema;
  const own = shapeOf(values) as { properties: Record<string, Schema> };
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    ...own,
    properties: {
      ...own.properties,
      nodes: { type: "integer", minimum: 1, maximum: NODES - SURGE },
      settings: settingsSchema(),
      secrets: object(Object.fromEntries(SETTINGS.filter(holdsSecret).map((setting) => [nameOf(setting), REFERENCE]))),
      secretKey: MAYBE_REFERENCE,
      hosts: { type: "array", items: { type: "string" } },
      serviceMonitor: object({ enabled: { type: "boolean" }, interval: { type: "string" }, key: MAYBE_REFERENCE }),
      // Charts that contain this one pass these on.
      global: { type: "object" },
    },
  };
}

function settingsSchema(): Schema {
  const sections: Record<string, Record<string, Schema>> = {};
  for (const setting of SETTINGS) {
    if (holdsSecret(setting) || SET_BY_CHART.includes(nameOf(setting))) continue;
    (sections[setting.section] ??= {})[setting.key] = { description: setting.sentence, ...valueOf(setting) };
  }
  return object(Object.fromEntries(Object.entries(sections).map(([name, keys]) => [name, object(keys)])));
}

function valueOf(setting: Setting): Schema {
  const {
    default: given,
    options,
    min,
    max,
  } = setting as Setting & { options?: readonly string[]; min?: number; max?: number };
  if (Array.isArray(given)) return { type: "array", items: { type: "string" } };
  if (typeof given === "number") {
    return { type: "integer", ...(min !== undefined && { minimum: min }), ...(max !== undefined && { maximum: max }) };
  }
  return options === undefined ? { type: typeof given } : { enum: options };
}

function object(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", properties, additionalProperties: false };
}

/** A default says which type a value has. */
function shapeOf(value: unknown): Schema {
  if (Array.isArray(value)) return { type: "array" };
  if (typeof value !== "object" || value === null) return { type: typeof value };
  return object(
    Object.fromEntries(
      Object.entries(value).map(([key, of]) => [
        key,
        ITS_OWN.includes(key) ? { type: Array.isArray(of) ? "array" : "object" } : shapeOf(of),
      ]),
    ),
  );
}
