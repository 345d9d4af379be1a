/** Shows how a receiver verifies requests, in six languages, by either signature with the secret or by the public key. */
import { useState } from "react";
import type { Endpoint } from "../../client/operations.ts";
import { needsPrivateKey } from "../../domain/endpoints/endpoint.ts";
import { Choices } from "../parts/choices.tsx";
import { Code } from "../parts/code.tsx";
import { PublicKeys } from "../secrets/public-keys.tsx";
import { useCan, useSession } from "../session/session.ts";

type Signature = Endpoint["signatures"][number];
/** Either signature can be verified with the secret: the one with a timestamp, and the one of the body alone. */
type Method = "standard" | Signature;

/** The files of docs/verify, docs/verify-standard and docs/verify-ed25519 by extension, as JSON. scripts/portal.ts inserts them. */
declare const __SNIPPETS__: string;
const SNIPPETS = JSON.parse(__SNIPPETS__) as Readonly<Record<Method, Readonly<Record<string, string>>>>;
/** The header that the snippets use. The endpoint may use another. */
const NAMED = "X-Service-Signature";

const LANGUAGES: readonly (readonly [extension: string, word: string])[] = [
  [".mjs", "Node"],
  [".py", "Python"],
  [".go", "Go"],
  [".java", "Java"],
  [".rb", "Ruby"],
  [".php", "PHP"],
];

export function VerifyingCode({ endpoint }: { endpoint: Endpoint }) {
  const [chosen, choose] = useState<Method>();
  const { signature_header: header, standard_webhooks: isStandardSent } = useSession().portal;
  // The first one that this endpoint gets: the public key where it chose it, else the signature with a timestamp.
  const secret = isStandardSent && endpoint.signatures.includes("hmac") ? "standard" : "hmac";
  const method = chosen ?? (needsPrivateKey(endpoint) ? "ed25519" : secret);
  const [language, setLanguage] = useState(LANGUAGES[0]![0]);
  const name = LANGUAGES.find(([extension]) => extension === language)![1];
  const methods: readonly (readonly [Method, string])[] = [
    ...(secret === "standard" ? ([["standard", "webhook-signature"]] as const) : []),
    ["hmac", header],
    ["ed25519", "Public key"],
  ];
  const code = SNIPPETS[method][language]!.replaceAll(NAMED, header);
  return (
    <>
      <Choices label="Verify with" all={methods} chosen={method} choose={choose} />
      {method === "standard" && <Standard header={header} />}
      {method === "hmac" && <OfBody header={header} />}
      {method === "ed25519" && <ByPublicKey endpoint={endpoint} />}
      <Choices label="Language" all={LANGUAGES} chosen={language} choose={setLanguage} />
      <Code text={code.trim()} label={`Code for ${name}`} />
    </>
  );
}

function Standard({ header }: { header: string }) {
  return (
    <p className="prose">
      <strong>Recommended.</strong> <code>webhook-signature</code> follows Standard Webhooks. It covers{" "}
      <code>webhook-id</code>, <code>webhook-timestamp</code> and the raw body, so the libraries also refuse an old
      request that somebody recorded and sends again. <code>{header}</code> does not. Give the library this endpoint's
      signing secret as it is shown, and the bytes as they arrived.
    </p>
  );
}

function OfBody({ header }: { header: string }) {
  return (
    <p className="prose">
      <code>{header}</code> is the HMAC-SHA256 of the raw body, in hexadecimal. The key is this endpoint's signing
      secret as it is shown. Verify the bytes as they arrived, before anything parses them. It says nothing about time:
      a recorded request verifies again, so keep the ids of the events that you have handled.
    </p>
  );
}

function ByPublicKey({ endpoint }: { endpoint: Endpoint }) {
  const mayManage = useCan("manage");
  return (
    <>
      <p className="prose">
        The entry <code>v1a,…</code> in <code>webhook-signature</code> is an Ed25519 signature of{" "}
        <code>webhook-id</code>, <code>webhook-timestamp</code> and the raw body, joined by dots. Your receiver needs
        only the public key, with which nobody can make a signature.
      </p>
      {needsPrivateKey(endpoint) ? (
        <PublicKeys tenant={endpoint.tenant} />
      ) : (
        <p className="alert wait">
          <span>
            This endpoint does not get this signature.{" "}
            {mayManage ? <a href={`#/${endpoint.id}/edit`}>Turn it on</a> : "It can be turned on when you edit it."}
          </span>
        </p>
      )}
    </>
  );
}
