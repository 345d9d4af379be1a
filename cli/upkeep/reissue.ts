import type { Affected } from "../../src/offline.ts";
import { command, CONFIG, JSON_FLAG } from "../command.ts";
import { confirm, requireConsent } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../output/print.ts";
import { sayTable } from "../output/table.ts";
import { configOf, DATA_DIR } from "./data-directory.ts";
import { count } from "../output/words.ts";

export const secretsReissue = command({
  args: {
    "data-dir": DATA_DIR,
    yes: { type: "boolean", description: "Do not ask before replacing the secrets" },
    json: JSON_FLAG,
    config: CONFIG,
  },
  examples: ["webhookd secrets reissue", "webhookd secrets reissue --data-dir /var/lib/webhookd --yes --json"],
  /** Never shows the secrets themselves. */
  async run(args, io) {
    requireConsent("reissuing every secret", args, io);
    const config = configOf(args, io);
    const { reissue } = await import("../../src/offline.ts");
    const reissued = await reissue(config, async (endpoints) => {
      if (!args.yes) table(endpoints, { ...io, stdout: io.stderr });
      await confirm({ facts: factsOf(endpoints), word: String(endpoints.length) }, args, io);
      return true;
    });
    const { keyFile, endpoints } = reissued!;
    if (args.json) sayJson(io, { secret_key_file: keyFile, paused: true, endpoints: endpoints.map(jsonOf) });
    else tell(io, keyFile, endpoints);
    return EXIT.ok;
  },
});

function factsOf(endpoints: readonly Affected[]): string[] {
  return [
    `${count(endpoints.length, "endpoint gets", "endpoints get")} a new signing secret. Each secret must be given to the people who run the receiver.`,
    "Sending will be paused. Values of custom headers, and what receivers ask for besides a signature (auth), are lost: deliveries to those endpoints wait until you set them again.",
    "If you have any copy of secret.key, or a backup that includes it, stop here and run webhookd restore --key-only",
  ];
}

function tell(io: Io, keyFile: string, endpoints: readonly Affected[]): void {
  const authed = endpoints.some(({ lostAuth }) => lostAuth);
  const headed = endpoints.filter(({ lostHeaders }) => lostHeaders.length > 0);
  say(
    io,
    `${count(endpoints.length, "endpoint has", "endpoints have")} a new signing secret. Tell the people who run:`,
  );
  table(endpoints, io);
  say(io, `The new key is ${keyFile}. Copy it off this host.`);
  say(io, "Sending is PAUSED. Next:");
  say(io, "  webhookd serve");
  say(io, "  webhookd endpoints secret ep_…            to see each new secret");
  if (headed.length > 0) {
    say(
      io,
      "  webhookd endpoints update ep_… --headers-from FILE   for each endpoint that lost headers, which waits until then",
    );
  }
  if (authed) {
    say(
      io,
      "  webhookd endpoints update ep_… --auth-from FILE      for each endpoint that lost its auth, which waits too",
    );
  }
  say(io, "  webhookd resume                           once the receivers have their secrets");
  note(io, "A publish request repeated with an earlier Idempotency-Key counts as new.");
}

function table(endpoints: readonly Affected[], io: Io): void {
  if (endpoints.length === 0) return;
  sayTable(io, [
    ["ENDPOINT", "TENANT", "UID", "LOST HEADERS", "LOST AUTH", "URL"],
    ...endpoints.map(({ endpoint, tenant, uid, lostHeaders, lostAuth, url }) => [
      endpoint,
      tenant,
      uid ?? "-",
      lostHeaders.join(",") || "-",
      lostAuth ? "yes" : "-",
      url,
    ]),
  ]);
}

function jsonOf({ lostHeaders, lostAuth, ...rest }: Affected) {
  return { ...rest, lost_headers: lostHeaders, lost_auth: lostAuth };
}
