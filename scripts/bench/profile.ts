/**
 * Shows which code a process spent its CPU on, from the profiles that `--cpu-prof` left: by part, and the hottest
 * functions.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Profile {
  /** Microseconds of the monotonic clock. */
  readonly startTime: number;
  readonly nodes: readonly Node[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface Node {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

interface Spent {
  /** Microseconds by part, then by function. */
  readonly parts: Map<string, number>;
  readonly functions: Map<string, number>;
  total: number;
}

const TOP = 40;
/** The first pattern that matches the URL of a frame decides its part. */
const PARTS: readonly (readonly [RegExp, string])[] = [
  [/node_modules\/undici\//, "undici"],
  [/node_modules\/better-sqlite3\/|src\/store\/sqlite\//, "SQLite"],
  [/src\/domain\/json/, "JSON scan"],
  [/node_modules\/(h3|srvx|rou3|listhen)|src\/api\/|node:_http|node:internal\/(http|url)/, "HTTP in"],
  [/src\/delivery\/|src\/domain\/|src\/(daemon|clock|log)/, "delivery and domain"],
  [/node:(internal\/)?crypto/, "crypto"],
  [
    /node:(net|internal\/(stream_base|streams|timers|process|async_hooks)|events|timers|buffer|internal\/buffer)/,
    "Node",
  ],
];

/** Returns a report on self time in the window, without idle time. Native code counts for its caller. */
export function profileReport(dir: string, window: { readonly from: number; readonly to: number }): string {
  const spent: Spent = { parts: new Map(), functions: new Map(), total: 0 };
  for (const file of readdirSync(dir).filter((name) => name.endsWith(".cpuprofile"))) {
    add(spent, JSON.parse(readFileSync(join(dir, file), "utf8")) as Profile, window);
  }
  const lines = (map: Map<string, number>) =>
    [...map]
      .sort(([, a], [, b]) => b - a)
      .slice(0, TOP)
      .map(([name, us]) => `${((100 * us) / spent.total).toFixed(1).padStart(5)} %  ${name}`);
  return [...lines(spent.parts), "", ...lines(spent.functions)].join("\n");
}

function add(spent: Spent, profile: Profile, { from, to }: { from: number; to: number }): void {
  const { nodes, samples, timeDeltas } = profile;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  let at = profile.startTime;
  samples.forEach((id, index) => {
    const us = timeDeltas[index]!;
    at += us;
    const node = byId.get(id)!;
    const { functionName: name } = node.callFrame;
    if (name === "(idle)" || name === "(root)" || at < from * 1000 || at > to * 1000) return;
    const caller = callerOf(node, (of) => byId.get(parents.get(of) ?? -1));
    const part = name === "(garbage collector)" ? "GC" : partOf(caller);
    spent.total += us;
    raise(spent.parts, part, us);
    raise(spent.functions, `${part}: ${placeOf(node)}${caller === node ? "" : ` ← ${placeOf(caller)}`}`, us);
  });
}

/** Functions without a URL are native, and count for their caller. */
function callerOf(node: Node, parent: (id: number) => Node | undefined): Node {
  for (let at: Node | undefined = node; at !== undefined; at = parent(at.id)) if (at.callFrame.url !== "") return at;
  return node;
}

function partOf({ callFrame: { url, functionName } }: Node): string {
  if (functionName === "(program)") return "native: I/O, no JavaScript on the stack";
  return PARTS.find(([pattern]) => pattern.test(url))?.[1] ?? "other";
}

function placeOf({ callFrame: { functionName, url, lineNumber } }: Node): string {
  const file = url.replace(/^.*\/(node_modules|src|cli)\//, "$1/");
  return `${functionName || "(anonymous)"}${file === "" ? "" : ` ${file}:${lineNumber + 1}`}`;
}

function raise(map: Map<string, number>, key: string, by: number): void {
  map.set(key, (map.get(key) ?? 0) + by);
}
