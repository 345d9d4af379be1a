/** Looks count the cost of evaluating a filter. */

/**
 * The number of values that one filter may look at in one event. An event with thousands of items could otherwise hold
 * up every other publish. A filter that is not finished by then lets the event through, so that nothing is lost.
 */
export const MAX_LOOKS = 20_000;

/** The number of values that may still be looked at. Once it is negative, no answer counts any more. */
export interface Looks {
  left: number;
}

/**
 * Tests one value. Undefined stands for a value that the event does not have. A test that looks at more than the value
 * itself, such as at its items, counts these looks first.
 */
export type Accepts = (value: unknown, looks: Looks) => boolean;
