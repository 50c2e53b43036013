import { describe, expect, it } from 'vitest';
import { resolvePostgresOptions } from '../../lib/drivers/postgres/postgres-options.js';
import { schema } from '../../lib/drivers/postgres/schema.js';
import { readPage, tableRows } from './markdown.js';

const PAGE = 'docs/postgres.md';
const target = { connectionString: 'postgres://host/database' };

describe('the page about PostgreSQL', () => {
  it('shows the SQL that migrations run', () => {
    expect(readPage(PAGE)).toContain(`\`\`\`sql\n${schema()}\`\`\``);
  });

  const rows = tableRows(PAGE, 'option of the driver');

  it('tells all options that there are', () => {
    const told = rows.flatMap(([names = '']) => names.replaceAll('`', '').split(', '));
    expect(new Set(told)).toEqual(new Set(Object.keys(resolvePostgresOptions(target))));
  });

  it.each(rows.slice(1))('tells the default of %s', (name = '', value = '') => {
    const told = JSON.parse(value.replaceAll('`', '').replaceAll("'", '"')) as unknown;
    const given = { ...target, [name.replaceAll('`', '')]: told };
    expect(resolvePostgresOptions(given)).toEqual(resolvePostgresOptions(target));
  });
});
