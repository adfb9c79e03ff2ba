-- Somebody to look at in a database that has nobody yet.
with sample (name, email, age) as (
  values
    ('Amara Okafor', 'amara.okafor@example.com', 34),
    ('Björn Lindqvist', 'bjorn.lindqvist@example.com', 51),
    ('Chen Wei', 'chen.wei@example.com', 28),
    ('Dolores Fuentes', 'dolores.fuentes@example.com', 45),
    ('Emre Yıldız', 'emre.yildiz@example.com', 39),
    ('Fatima Zahra Benali', 'fz.benali@example.com', 31),
    ('Grace O''Malley', 'grace.omalley@example.com', 62),
    ('Hiroshi Tanaka', 'hiroshi.tanaka@example.com', 47),
    ('Ingrid Solberg', 'ingrid.solberg@example.com', 26),
    ('João Pereira', 'joao.pereira@example.com', 33),
    ('Kavya Raghunathan', 'kavya.r@example.com', 29),
    ('Liam Fitzgerald', 'liam.fitzgerald@example.com', null),
    ('Marta Kowalczyk', 'marta.kowalczyk@example.com', 41),
    ('Nikolai Petrov', 'nikolai.petrov@example.com', 58),
    ('Olumide Adeyemi', 'olumide.adeyemi@example.com', 36),
    ('Priya Subramaniam', 'priya.s@example.com', 24),
    ('Quentin Dubois', 'quentin.dubois@example.com', 49),
    ('Rosa Jiménez', 'rosa.jimenez@example.com', 37),
    ('Søren Kjær', 'soren.kjaer@example.com', null),
    ('Thandiwe Nkosi', 'thandiwe.nkosi@example.com', 30)
)
insert into users (name, email, age)
select name, email, age from sample where not exists (select 1 from users);
