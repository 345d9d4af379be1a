/** The field for headers that each request carries, such as one of the receiver's tokens. */
import { Button } from "../parts/button.tsx";
import type { HeaderDraft } from "./draft.ts";

interface Props {
  readonly headers: readonly HeaderDraft[];
  readonly refusal: string | undefined;
  readonly change: (headers: readonly HeaderDraft[]) => void;
}

export function HeadersField({ headers, refusal, change }: Props) {
  const set = (at: number, header: HeaderDraft) => change(headers.with(at, header));
  return (
    <fieldset className="field">
      <legend>Headers</legend>
      <p className="help">Sent with every request to this endpoint. Values are stored encrypted and not shown again.</p>
      {headers.map((header, at) => (
        <div key={at} className="header-row">
          <input
            className="code"
            aria-label={`Name of header ${at + 1}`}
            placeholder="X-Team"
            value={header.name}
            readOnly={header.kept}
            onChange={({ target }) => set(at, { ...header, name: target.value })}
          />
          <input
            className="code"
            aria-label={`Value of ${header.name || `header ${at + 1}`}`}
            placeholder={header.kept ? "•••••••• (unchanged)" : "Value"}
            autoComplete="off"
            value={header.value}
            onChange={({ target }) => set(at, { ...header, value: target.value, kept: false })}
          />
          <Button
            kind="quiet"
            aria-label={`Remove ${header.name || `header ${at + 1}`}`}
            onClick={() => change(headers.toSpliced(at, 1))}
          >
            Remove
          </Button>
        </div>
      ))}
      {refusal && (
        <p className="help wrong" role="alert">
          {refusal}
        </p>
      )}
      <p>
        <Button onClick={() => change([...headers, { name: "", value: "", kept: false }])}>Add a header</Button>
      </p>
    </fieldset>
  );
}
