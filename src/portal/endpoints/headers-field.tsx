/** The field for headers that each request carries, such as one of the receiver's tokens. */
import { Button } from "../parts/button.tsx";
import type { HeaderDraft } from "./draft.ts";
import { t } from "../language/text.ts";

interface Props {
  readonly headers: readonly HeaderDraft[];
  readonly refusal: string | undefined;
  readonly change: (headers: readonly HeaderDraft[]) => void;
}

function calledAs({ name }: HeaderDraft, at: number): string {
  return name || t("headers.header", { number: at + 1 });
}

export function HeadersField({ headers, refusal, change }: Props) {
  const set = (at: number, header: HeaderDraft) => change(headers.with(at, header));
  return (
    <fieldset className="field">
      <legend>{t("headers.headers")}</legend>
      <p className="help">{t("headers.sentWithEveryRequestTo")}</p>
      {headers.map((header, at) => (
        <div key={at} className="header-row">
          <input
            className="code"
            aria-label={t("headers.nameOf", { number: at + 1 })}
            placeholder={"X-Team"}
            value={header.name}
            readOnly={header.kept}
            onChange={({ target }) => set(at, { ...header, name: target.value })}
          />
          <input
            className="code"
            aria-label={t("headers.valueOf", { header: calledAs(header, at) })}
            placeholder={header.kept ? t("headers.unchanged") : t("headers.value")}
            autoComplete="off"
            value={header.value}
            onChange={({ target }) => set(at, { ...header, value: target.value, kept: false })}
          />
          <Button
            kind="quiet"
            aria-label={t("headers.removeOne", { header: calledAs(header, at) })}
            onClick={() => change(headers.toSpliced(at, 1))}
          >
            {t("common.remove")}
          </Button>
        </div>
      ))}
      {refusal && (
        <p className="help wrong" role="alert">
          {refusal}
        </p>
      )}
      <p>
        <Button onClick={() => change([...headers, { name: "", value: "", kept: false }])}>
          {t("headers.addAHeader")}
        </Button>
      </p>
    </fieldset>
  );
}
