/** The parts of a rotation that signing secrets and private keys share. */
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { Trouble } from "../parts/states.tsx";
import { unawaited } from "../../domain/unawaited.ts";
import { t } from "../language/text.ts";

const OVERLAPS = [
  ["rotation.hour", 3600],
  ["rotation.day", 86_400],
  ["rotation.3Days", 259_200],
  ["rotation.7Days", 604_800],
] as const;

export const USUAL_OVERLAP = 86_400;

interface OverlapProps {
  readonly id: string;
  readonly seconds: number;
  readonly change: (seconds: number) => void;
}

export function Overlap({ id, seconds, change }: OverlapProps) {
  return (
    <div className="field inline">
      <label htmlFor={id}>{t("rotation.itTakesOverAfter")}</label>
      <select id={id} value={seconds} onChange={({ target }) => change(Number(target.value))}>
        {OVERLAPS.map(([word, one]) => (
          <option key={word} value={one}>
            {t(word)}
          </option>
        ))}
      </select>
    </div>
  );
}

interface ConsentProps {
  readonly text: string;
  readonly word: string;
  readonly close: () => void;
  readonly act: () => Promise<void>;
}

/** The content of the question before a rotation ends. It closes once the rotation has ended. */
export function Consent({ text, word, close, act }: ConsentProps) {
  const { busy, fault, run } = useAct();
  const go = () =>
    run(async () => {
      await act();
      close();
    });
  return (
    <>
      <p>{text}</p>
      {fault && <Trouble fault={fault} />}
      <div className="actions">
        <Button onClick={close}>{t("common.cancel")}</Button>
        <Button kind="primary" busy={busy} onClick={() => unawaited(go())}>
          {word}
        </Button>
      </div>
    </>
  );
}
