/** Milliseconds that a connection has to say goodbye. One that is dead without saying so would hold up a stop for ever. */
const GOODBYE = 1_000;

/** Waits for connections to end, but not for ever: at the end of the process the system closes what is left. */
export async function endWithin(ending: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, GOODBYE);
  });
  try {
    await Promise.race([ending.catch(() => undefined), patience]);
  } finally {
    clearTimeout(timer);
  }
}
