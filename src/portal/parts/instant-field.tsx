/** A field for a date and a time, in the reader's own time zone. */

interface Props {
  readonly label: string;
  /** RFC 3339. Null if nothing was chosen. */
  readonly instant: string | null;
  readonly change: (instant: string | null) => void;
}

export function InstantField({ label, instant, change }: Props) {
  return (
    <label className="instant">
      <span className="quiet">{label}</span>
      <input
        type="datetime-local"
        value={localOf(instant)}
        onChange={({ target }) => change(instantOf(target.value))}
      />
    </label>
  );
}

function instantOf(local: string): string | null {
  const time = new Date(local).getTime();
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

function localOf(instant: string | null): string {
  const time = instant === null ? Number.NaN : Date.parse(instant);
  if (Number.isNaN(time)) return "";
  return new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
