import type { Bounds, KindName } from "../kinds.ts";

export interface SettingShape extends Bounds {
  readonly section: string;
  readonly key: string;
  readonly kind: KindName;
  /** As the file would have it. */
  readonly default: string | boolean | number | readonly string[];
  /** The comment in config.example.toml. */
  readonly sentence: string;
  /** Whether a running daemon takes up a change of it at SIGHUP. */
  readonly live?: true;
  /** Anyone who knows the whole value can do something with it. */
  readonly holdsSecret?: true;
}
