/** Makes the Debian package of an executable with debhelper, whose scripts create the user and start the service. */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serviceUnit } from "../../cli/config/units.ts";
import type { Executable } from "../package/make.ts";
import type { Target } from "../package/targets.ts";
import { root } from "../root.ts";

const SHIPPED = join(import.meta.dirname, "debian");
const ARCHITECTURES: Readonly<Record<Target["arch"], string>> = { x64: "amd64", arm64: "arm64" };
/** The output of `webhookd completions` for each shell, in the files that debian/webhookd.install expects. */
const COMPLETIONS = { bash: "webhookd", zsh: "_webhookd", fish: "webhookd.fish" };

export interface Packaging {
  /** The person who makes the release: `Name <address>`. */
  readonly maintainer: string;
  /** The ISO time of the commit, so that it does not depend on the machine. */
  readonly built: string;
  /** The contents of THIRD-PARTY-LICENSES. */
  readonly licences: string;
}

/** Returns the package's file in `directory`. Needs debhelper and dpkg-dev. */
export function makeDebianPackage(
  { file, target, bundle }: Pick<Executable, "file" | "target" | "bundle">,
  directory: string,
  { maintainer, built, licences }: Packaging,
): string {
  const architecture = ARCHITECTURES[target.arch];
  const scratch = mkdtempSync(join(tmpdir(), "webhookd-debian-"));
  const tree = join(scratch, "webhookd");
  const fill = (name: string, values: Readonly<Record<string, string>>) => {
    const at = join(tree, "debian", name);
    writeFileSync(
      at,
      readFileSync(at, "utf8").replaceAll(/@(\w+)@/g, (_, value: string) => values[value]!),
    );
  };
  try {
    cpSync(SHIPPED, join(tree, "debian"), { recursive: true });
    copyFileSync(file, join(tree, "webhookd"));
    chmodSync(join(tree, "webhookd"), 0o755);
    copyFileSync(join(root, "config.example.toml"), join(tree, "webhookd.toml"));
    copyFileSync(join(root, "CHANGELOG.md"), join(tree, "CHANGELOG.md"));
    writeFileSync(join(tree, "THIRD-PARTY-LICENSES"), licences);
    fill("control", { MAINTAINER: maintainer, ARCHITECTURE: architecture });
    fill("copyright", licenceFields());
    writeFileSync(join(tree, "debian/changelog"), changelogEntry(bundle.version, maintainer, built));
    writeFileSync(join(tree, "debian/webhookd.service"), serviceUnit("/usr/bin/webhookd"));
    for (const [shell, name] of Object.entries(COMPLETIONS)) {
      mkdirSync(join(tree, "completions", shell), { recursive: true });
      const words = [join(root, "cli/main.ts"), "completions", shell];
      writeFileSync(join(tree, "completions", shell, name), execFileSync(process.execPath, words));
    }
    run("dpkg-buildpackage", ["-b", "-uc", "-us", "-d", `-a${architecture}`], tree, built);
    const name = `webhookd_${bundle.version}_${architecture}.deb`;
    copyFileSync(join(scratch, name), join(directory, name));
    return join(directory, name);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function run(command: string, words: readonly string[], cwd: string, built: string): void {
  const SOURCE_DATE_EPOCH = String(Math.floor(Date.parse(built) / 1000));
  try {
    execFileSync(command, words, { cwd, env: { ...process.env, SOURCE_DATE_EPOCH }, stdio: "pipe" });
  } catch (error) {
    const { code, stdout, stderr } = error as NodeJS.ErrnoException & { stdout?: Buffer; stderr?: Buffer };
    if (code === "ENOENT") throw new Error("needs debhelper: apt-get install debhelper", { cause: error });
    throw new Error(`${command} failed:\n${stdout?.toString()}${stderr?.toString()}`, { cause: error });
  }
}

/** Formats the date as changelogs do: `Thu, 20 Nov 2026 09:55:00 +0000`. */
function changelogEntry(version: string, maintainer: string, built: string): string {
  const when = new Date(built).toUTCString().replace("GMT", "+0000");
  return `webhookd (${version}) unstable; urgency=medium

  * Release ${version}: see /usr/share/doc/webhookd/changelog.gz.

 -- ${maintainer}  ${when}
`;
}

function licenceFields(): { COPYRIGHT: string; LICENSE: string } {
  const text = readFileSync(join(root, "LICENSE"), "utf8");
  const [, copyright = "", terms = ""] = /^Copyright \(c\) (.*)\n+([^]*)$/m.exec(text) ?? [];
  const lines = terms.trim().split("\n");
  return { COPYRIGHT: copyright, LICENSE: lines.map((line) => ` ${line === "" ? "." : line}`).join("\n") };
}
