/** Function for `trustProxy`. Each request comes from another address, for tests of refusals that the limit of refusals would cut short. */
export const fromEverywhere = (): (() => string) => {
  let last = 0;
  return () => {
    last += 1;
    return `10.${(last >> 16) & 255}.${(last >> 8) & 255}.${last & 255}`;
  };
};
