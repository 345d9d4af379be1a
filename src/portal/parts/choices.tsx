interface Props<Value extends string> {
  readonly label: string;
  readonly all: readonly (readonly [value: Value, word: string])[];
  readonly chosen: Value;
  readonly choose: (value: Value) => void;
}

/** A row of buttons, of which one is pressed. */
export function Choices<Value extends string>({ label, all, chosen, choose }: Props<Value>) {
  return (
    <div className="choices" role="group" aria-label={label}>
      {all.map(([value, word]) => (
        <button key={value} type="button" aria-pressed={value === chosen} onClick={() => choose(value)}>
          {word}
        </button>
      ))}
    </div>
  );
}
