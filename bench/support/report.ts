import { type Finding, passes, type Target } from './bench.js';

/** Prints the findings of one bench as a table. */
export function report(findings: readonly Finding[]): void {
  const rows = [
    ['', 'median', 'min', 'max', 'target', '', ''],
    ...findings.map((finding) => [
      finding.what,
      `${show(finding.median)} ${finding.unit}`.trim(),
      show(finding.min),
      show(finding.max),
      finding.target ? showTarget(finding.target) : '',
      verdict(finding),
      finding.note ?? '',
    ]),
  ];
  const widths = rows[0]?.map((_, column) =>
    Math.max(...rows.map((row) => (row[column] as string).length)),
  );
  for (const row of rows) {
    const cells = row.map((cell, column) => {
      const width = widths?.[column] ?? 0;
      return column === 0 || column > 3 ? cell.padEnd(width) : cell.padStart(width);
    });
    console.log(`  ${cells.join('  ').trimEnd()}`);
  }
}

function show(value: number | undefined): string {
  if (value === undefined) {
    return '';
  }
  return Number.isInteger(value) || value >= 100 ? value.toFixed(0) : value.toFixed(2);
}

function showTarget({ bound, value }: Target): string {
  const sign = { 'at least': '>=', below: '<', exactly: '=' }[bound];
  return `${sign} ${show(value)}`;
}

function verdict(finding: Finding): string {
  switch (passes(finding)) {
    case true:
      return 'pass';
    case false:
      return 'FAIL';
    default:
      return '';
  }
}
