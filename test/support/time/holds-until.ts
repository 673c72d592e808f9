/** Checks what holds until a moment. A machine that comes too late for it has nothing to tell. */
export async function holdsUntil(moment: number, check: () => Promise<unknown>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (Date.now() < moment) throw error;
  }
}
