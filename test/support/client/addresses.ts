/** Returns a function for `trustProxy` that gives each request another address, so that the limit of refusals does not end a test early. */
export const fromEverywhere = (): (() => string) => {
  let last = 0;
  return () => {
    last += 1;
    return `10.${(last >> 16) & 255}.${(last >> 8) & 255}.${last & 255}`;
  };
};
