/** Bugs where others come in or we go out. */
import type { Mutant } from "./mutant.ts";

export const EDGES: readonly Mutant[] = [
  {
    name: "names-are-guarded-and-literals-are-not",
    file: "src/delivery/http/egress-guard.ts",
    find: "      if (this.#refuses(this.#egress.policy.check(this.#callTo(ip)))) return;",
    replace:
      "      if (ips[0] !== this.#destination.hostname && this.#refuses(this.#egress.policy.check(this.#callTo(ip)))) return;",
    tests: ["test/delivery/http/egress-guard.test.ts"],
  },
  {
    name: "a-mapped-address-is-not-unwrapped",
    file: "src/domain/network/address.ts",
    find: "const ways = [address, ...carriedBy(address)];",
    replace: "const ways = [address];",
    tests: ["test/domain/address.test.ts"],
  },
  {
    name: "every-v6-address-is-global",
    file: "src/domain/network/address.ts",
    find: 'cidrs(["2000::/3"])',
    replace: 'cidrs(["::/0"])',
    tests: ["test/domain/address.test.ts"],
  },
  {
    name: "wireserver-is-open",
    file: "src/domain/network/address.ts",
    find: '  "168.63.129.16",\n',
    replace: "",
    tests: ["test/domain/address.test.ts"],
  },
  {
    name: "a-tenants-network-is-not-its-own",
    file: "src/domain/network/address.ts",
    find: "return this.#openedTo.get(tenant) ?? this.#opened;",
    replace: "return [...this.#openedTo.values()][0] ?? this.#opened;",
    tests: ["test/domain/address.test.ts"],
  },
  {
    name: "c1-controls-are-printed",
    file: "src/domain/printable.ts",
    find: "\\x7f-\\x9f",
    replace: "\\x7f",
    tests: ["test/domain/printable.test.ts"],
  },
  {
    name: "any-host-is-served",
    file: "src/api/pipeline/origin.ts",
    find: 'forwarded === null ? isOurs(authority ?? "") : forwarded.every(isOurs)',
    replace: "forwarded === null || forwarded.every(isOurs)",
    tests: ["test/api/pipeline/pipeline.test.ts"],
  },
  {
    name: "a-job-stops-at-its-first-page",
    file: "src/jobs/runner.ts",
    find: "      if (page.length < STEP_ROWS) return left;",
    replace: "      if (page.length <= STEP_ROWS) return left;",
    tests: ["test/jobs/runner.test.ts"],
  },
  {
    name: "the-second-daemon-starts-too",
    file: "src/store/opening/lock.ts",
    find: '    db.exec("BEGIN EXCLUSIVE");\n',
    replace: "",
    tests: ["test/store/opening/lock.test.ts"],
  },
  {
    name: "the-lock-file-is-opened-through-fs",
    file: "src/store/opening/lock.ts",
    find: "    isHolderKnown = saveHolder(",
    replace: "    readFileSync(file);\n    isHolderKnown = saveHolder(",
    tests: ["test/store/opening/lock.test.ts"],
  },
];
