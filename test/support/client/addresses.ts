/** For `trustProxy`, in tests of refusals that the limit of refusals would cut short: each request comes from an address of its own. */
export const fromEverywhere = (): (() => string) => {
  let last = 0;
  return () => {
    last += 1;
    return `10.${(last >> 16) & 255}.${(last >> 8) & 255}.${last & 255}`;
  };
};
