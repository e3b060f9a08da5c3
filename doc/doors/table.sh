python practice_table.py
python -m skgpb search patients.csv --features bmi s5 --target progression --budget 100 --report report.html
