/** The field for the signatures of an endpoint: HMAC always, Ed25519 in addition. */
import { PublicKeys } from "../secrets/public-keys.tsx";
import { useSession } from "../session/session.ts";
import { Choice } from "./choice.tsx";

interface Props {
  readonly ed25519: boolean;
  /** The tenant of the endpoint. */
  readonly tenant: string;
  readonly refusal: string | undefined;
  readonly change: (ed25519: boolean) => void;
}

export function SignaturesField({ ed25519, tenant, refusal, change }: Props) {
  const { signature_header: header } = useSession().portal;
  return (
    <fieldset className="field" aria-describedby={refusal && "signatures-wrong"}>
      <legend>Signatures</legend>
      <p className="help">They show your receiver that a request comes from us. Every request has the first one.</p>
      <ul className="types card">
        <Choice id="signature-hmac" name="HMAC, with the signing secret" on>
          <p id="signature-hmac-says" className="quiet">
            In the header <code>{header}</code>. Your receiver needs the secret.
          </p>
        </Choice>
        <Choice id="signature-ed25519" name="Ed25519, with a public key" on={ed25519} toggle={change}>
          <p id="signature-ed25519-says" className="quiet">
            In addition: the entry <code>v1a,…</code> in <code>webhook-signature</code>. Your receiver needs only a
            public key, with which nobody can make a signature. So it is nothing to keep secret.
          </p>
          {ed25519 && <PublicKeys tenant={tenant} />}
        </Choice>
      </ul>
      {refusal && (
        <p id="signatures-wrong" className="help wrong" role="alert">
          {refusal}
        </p>
      )}
    </fieldset>
  );
}
