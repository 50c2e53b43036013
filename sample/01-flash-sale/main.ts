import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { FlashSaleService, type SaleResult } from './flash-sale.service.js';
import { printTable } from '../print-table.js';

const once = process.argv.includes('--once');

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
await app.init();

const [unguarded, guarded] = await app.get(FlashSaleService).run();
printTable([unguarded, guarded].map(toRow));

if (once) {
  await app.close();
  process.exitCode = guarded.oversold === 0 && unguarded.oversold > 0 ? 0 : 1;
} else {
  await app.listen(process.env['PORT'] ?? 3000);
  const { port } = new URL(await app.getUrl());
  console.log(`\nBuy one yourself:  curl -X POST http://localhost:${port}/items/1/buy`);
  console.log(`See what is left:  curl http://localhost:${port}/items/1`);
  console.log('Stop with Ctrl+C.');
}

function toRow({
  name,
  buyers,
  sold,
  stockLeft,
  oversold,
  ms,
}: SaleResult): Record<string, string | number> {
  return { sale: name, buyers, sold, 'stock left': stockLeft, oversold, ms };
}
