/** Prints rows as a table, numbers to the right. */
export function printTable(rows: readonly Readonly<Record<string, string | number>>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const lines = [columns, ...rows.map((row) => columns.map((column) => String(row[column])))];
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  for (const line of lines) {
    const [name = '', ...numbers] = line.map((cell, i) => {
      const width = widths[i] ?? 0;
      return i === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    console.log([name, ...numbers].join('   '));
  }
}
