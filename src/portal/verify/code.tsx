/**
 * Shows how a receiver verifies requests, in six languages, by either signature with the secret or by the public key.
 */
import { useState } from "react";
import type { Endpoint } from "../../client/operations.ts";
import { needsPrivateKey } from "../../domain/endpoints/endpoint.ts";
import { MARKS, rich } from "../language/rich.tsx";
import { Choices } from "../parts/choices.tsx";
import { Code } from "../parts/code.tsx";
import { PublicKeys } from "../secrets/public-keys.tsx";
import { useCan, useSession } from "../session/session.ts";
import { t } from "../language/text.ts";

type Signature = Endpoint["signatures"][number];
/** Either signature can be verified with the secret: the one with a timestamp, and the one of the body alone. */
type Method = "standard" | Signature;

/**
 * The files of docs/verify, docs/verify-standard and docs/verify-ed25519 by extension, as JSON. scripts/portal.ts
 * inserts them.
 */
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
    ["ed25519", t("code.publicKey")],
  ];
  const code = SNIPPETS[method][language]!.replaceAll(NAMED, header);
  return (
    <>
      <Choices label={t("code.verifyWith")} all={methods} chosen={method} choose={choose} />
      {method === "standard" && <Standard header={header} />}
      {method === "hmac" && <OfBody header={header} />}
      {method === "ed25519" && <ByPublicKey endpoint={endpoint} />}
      <Choices label={t("code.language")} all={LANGUAGES} chosen={language} choose={setLanguage} />
      <Code text={code.trim()} label={t("code.codeFor", { name })} />
    </>
  );
}

function Standard({ header }: { header: string }) {
  return <p className="prose">{rich("code.standard", { ...MARKS, header: <code>{header}</code> })}</p>;
}

function OfBody({ header }: { header: string }) {
  return <p className="prose">{rich("code.ofBody", { header: <code>{header}</code> })}</p>;
}

function ByPublicKey({ endpoint }: { endpoint: Endpoint }) {
  const mayManage = useCan("manage");
  return (
    <>
      <p className="prose">{rich("code.byKey", MARKS)}</p>
      {needsPrivateKey(endpoint) ? (
        <PublicKeys tenant={endpoint.tenant} />
      ) : (
        <p className="alert wait">
          <span>
            {t("code.notHere")}{" "}
            {mayManage ? <a href={`#/${endpoint.id}/edit`}>{t("code.turnOn")}</a> : t("code.canTurnOn")}
          </span>
        </p>
      )}
    </>
  );
}
