/** The field for the signatures of an endpoint: HMAC always, Ed25519 in addition. */
import { MARKS, rich } from "../language/rich.tsx";
import { PublicKeys } from "../secrets/public-keys.tsx";
import { useSession } from "../session/session.ts";
import { Choice } from "./choice.tsx";
import { t } from "../language/text.ts";

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
      <legend>{t("common.signatures")}</legend>
      <p className="help">{t("signatures.theyShowYourReceiverThat")}</p>
      <ul className="types card">
        <Choice id="signature-hmac" name={t("signatures.hmacName")} on>
          <p id="signature-hmac-says" className="quiet">
            {rich("signatures.hmac", { header: <code>{header}</code> })}
          </p>
        </Choice>
        <Choice id="signature-ed25519" name={t("signatures.ed25519Name")} on={ed25519} toggle={change}>
          <p id="signature-ed25519-says" className="quiet">
            {rich("signatures.ed25519", MARKS)}
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
