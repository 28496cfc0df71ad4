/**
 * Releases what an earlier part of a start holds when a later part fails.
 *
 * @param release its own error is dropped: the first error states why the start failed
 */
export async function releaseOnFailure<T>(
  start: () => Promise<T>,
  release: () => Promise<void> | void,
): Promise<T> {
  try {
    return await start();
  } catch (error) {
    try {
      await release();
    } catch {}
    throw error;
  }
}
