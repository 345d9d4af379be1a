/** Shows how a receiver verifies requests, in six languages, by the secret or by the public key. */
import { useState } from "react";
import type { Endpoint } from "../../client/operations.ts";
import { Choices } from "../parts/choices.tsx";
import { Code } from "../parts/code.tsx";
import { PublicKeys } from "../secrets/public-keys.tsx";
import { useCan, useSession } from "../session/session.ts";

type Signature = Endpoint["signatures"][number];

/** The files of docs/verify and docs/verify-ed25519 by extension, as JSON. scripts/portal.ts inserts them. */
declare const __SNIPPETS__: string;
const SNIPPETS = JSON.parse(__SNIPPETS__) as Readonly<Record<Signature, Readonly<Record<string, string>>>>;
/** The header that the snippets use. The endpoint may use another. */
const NAMED = "X-Service-Signature";

const SIGNATURES: readonly (readonly [signature: Signature, word: string])[] = [
  ["hmac", "Signing secret"],
  ["ed25519", "Public key"],
];

const LANGUAGES: readonly (readonly [extension: string, word: string])[] = [
  [".mjs", "Node"],
  [".py", "Python"],
  [".go", "Go"],
  [".java", "Java"],
  [".rb", "Ruby"],
  [".php", "PHP"],
];

export function VerifyingCode({ endpoint }: { endpoint: Endpoint }) {
  const [chosen, choose] = useState<Signature>();
  const signature = chosen ?? (endpoint.signatures.includes("ed25519") ? "ed25519" : "hmac");
  const [language, setLanguage] = useState(LANGUAGES[0]![0]);
  const { signature_header: header } = useSession().portal;
  const name = LANGUAGES.find(([extension]) => extension === language)![1];
  return (
    <>
      <Choices label="Verify with" all={SIGNATURES} chosen={signature} choose={choose} />
      {signature === "hmac" ? (
        <p className="prose">
          The header <code>{header}</code> is the HMAC-SHA256 of the raw body, in hexadecimal. The key is this
          endpoint's signing secret as it is shown. Verify the bytes as they arrived, before anything parses them.
        </p>
      ) : (
        <ByPublicKey endpoint={endpoint} />
      )}
      <Choices label="Language" all={LANGUAGES} chosen={language} choose={setLanguage} />
      <Code text={SNIPPETS[signature][language]!.trim().replaceAll(NAMED, header)} label={`Code for ${name}`} />
    </>
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
      {endpoint.signatures.includes("ed25519") ? (
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
