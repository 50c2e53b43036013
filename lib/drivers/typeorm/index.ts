export { schema } from '../postgres/schema.js';
export {
  type TypeOrmDataSource,
  TypeOrmLockDriver,
  type TypeOrmLockDriverOptions,
} from './typeorm-lock.driver.js';
