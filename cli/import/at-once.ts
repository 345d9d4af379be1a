/** Runs `each` for all items, some at once. After a failure it begins no more, waits for those under way, and throws. */
export async function someAtOnce<T>(
  items: readonly T[],
  most: number,
  each: (item: T) => Promise<unknown>,
): Promise<void> {
  const left = items.values();
  let failure: { readonly error: unknown } | null = null;
  const work = async () => {
    for (const item of left) {
      if (failure !== null) return;
      try {
        await each(item);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: most }, work));
  if (failure !== null) throw (failure as { readonly error: unknown }).error;
}
