import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../cli/commands.ts";
import { loadConfig } from "../../src/config.ts";
import { inputs } from "../config/inputs.ts";

interface Instruction {
  readonly name: string;
  readonly rest: string;
}

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
const instructions = parse(read("Dockerfile"));
const all = (name: string) => instructions.filter((instruction) => instruction.name === name).map(({ rest }) => rest);
const one = (name: string) => {
  const [only, ...more] = all(name);
  expect(more, `one ${name}`).toEqual([]);
  return only!;
};
const env = Object.fromEntries(all("ENV").flatMap((rest) => rest.split(/\s+/).map((pair) => pair.split(/=(.*)/s))));

function parse(text: string): Instruction[] {
  const lines = text
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll("\\\n", " ")
    .split("\n");
  return lines
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, name, rest] = /^([A-Z]+)\s+(.*\S)\s*$/.exec(line)!;
      return { name: name!, rest: rest! };
    });
}

/** Parses the exec form, in which no shell is needed and signals reach the program. */
function words(rest: string): string[] {
  const parsed: unknown = JSON.parse(rest);
  expect(parsed).toEqual(expect.arrayContaining([expect.any(String)]));
  return parsed as string[];
}

describe("the Dockerfile", () => {
  it("stands on one base, named by its digest, which has no shell to run anything in", () => {
    expect(one("FROM")).toMatch(/^gcr\.io\/distroless\/cc-debian\d+:nonroot@sha256:[0-9a-f]{64}$/);
    for (const name of ["RUN", "ADD", "SHELL", "MAINTAINER", "ONBUILD"]) expect(all(name), name).toEqual([]);
  });

  it("copies only what the builder is given, and never whatever is there", () => {
    const given = read(".dockerignore")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
    expect(given[0]).toBe("*");
    const variables = new Map(all("ARG").map((rest) => rest.split("=") as [string, string]));
    const copied = all("COPY").flatMap((rest) => {
      const paths = rest.replaceAll(/--\S+\s+/g, "").split(/\s+/);
      return paths.slice(0, -1).map((path) => path.replace(/^\$\{(\w+)\}$/, (_, name: string) => variables.get(name)!));
    });
    expect(copied).toEqual(["dist/webhookd", "LICENSE", "dist/THIRD-PARTY-LICENSES"]);
    for (const path of copied) expect(given).toContain(`!${path}`);
    for (const rest of all("COPY")) expect(rest).toMatch(/^--chmod=0[67][45][45] /);
  });

  it("runs as a user without rights, in numbers so that an orchestrator can tell", () => {
    expect(one("USER")).toBe("65532:65532");
    const order = instructions.map(({ name }) => name);
    expect(order.indexOf("USER")).toBeLessThan(order.indexOf("ENTRYPOINT"));
    expect(order.indexOf("USER")).toBeGreaterThan(order.lastIndexOf("COPY"));
  });

  it("names commands that there are, in the exec form", () => {
    const [program, ...none] = words(one("ENTRYPOINT"));
    expect(none).toEqual([]);
    const [command] = words(one("CMD"));
    const [, probe] = /^(?:--\S+ )+CMD (.*)$/.exec(one("HEALTHCHECK"))!;
    const [checker, check, ...rest] = words(probe!);
    expect(checker).toBe(program);
    // Without `--brief`, each check would count the failed deliveries, which costs too much every ten seconds. Without
    // `--ready`, an orchestrator would restart the daemon in an outage, which does not help.
    expect(rest).toEqual(["--brief", "--ready"]);
    expect(Object.keys(COMMANDS)).toEqual(expect.arrayContaining([command, check]));
    expect(all("COPY")[0]).toMatch(new RegExp(` ${program}$`));
    expect(one("STOPSIGNAL")).toBe("SIGTERM");
  });

  it("has settings that the daemon takes, its data on the volume and its port exposed", () => {
    const config = loadConfig(inputs({ env, home: env.HOME! }));
    expect(words(one("VOLUME"))).toEqual([config.data.dir]);
    expect(config.data.dir).toBe(env.HOME);
    expect(one("EXPOSE")).toBe(String(config.server.listen.port));
    expect(config.server.listen.host).toBe("0.0.0.0");
  });

  it("is what scripts/deploy/compose/compose.yaml runs: with its volume, its port on loopback alone, and nothing else to write to", () => {
    const compose = read("scripts/deploy/compose/compose.yaml");
    const { data, server } = loadConfig(inputs({ env, home: env.HOME! }));
    expect(compose).toContain(`volumes: ["data:${data.dir}"]`);
    expect(compose).toContain(`ports: ["127.0.0.1:${server.listen.port}:${server.listen.port}"]`);
    for (const line of ["image: webhookd", "read_only: true", "cap_drop: [ALL]"]) expect(compose).toContain(line);
  });

  it("contains no secret", () => {
    const names = [...Object.keys(env), ...all("ARG")].join(" ");
    expect(names).not.toMatch(/KEY|TOKEN|SECRET|PASS/i);
  });
});
