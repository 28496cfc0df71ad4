/** Like `12 %`; never rounded to none or to all. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "–";
  const share = part / whole;
  const rounded = Math.round(share * 100);
  if (share > 0 && rounded === 0) return "< 1 %";
  if (share < 1 && rounded === 100) return "> 99 %";
  return `${rounded} %`;
}
